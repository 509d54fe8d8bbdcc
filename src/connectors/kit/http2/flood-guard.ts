import type { Clock } from '../../../base/clock.js';

const WINDOW_MS = 1000;

/** Counts events and tells when there were too many in a second. Reads the clock once in `max` events. */
export class FloodGuard {
  readonly #clock: Clock;
  readonly #max: number;
  #count = 0;
  #since: number;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#since = clock.now();
  }

  /** Counts one. False when it is one too many. */
  allows(): boolean {
    if (++this.#count <= this.#max) return true;
    const now = this.#clock.now();
    if (now - this.#since < WINDOW_MS) return false;
    this.#since = now;
    this.#count = 1;
    return true;
  }
}
