import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';

/**
 * Mints message ids: 17 digits as Google's, strictly rising. Sixteen of them are the microseconds of the clock (pushed on
 * when more than a thousand a millisecond are minted), the last is drawn once per process.
 */
export class MessageIds {
  readonly #clock: Clock;
  readonly #lastDigit: string;
  #micros = 0;

  constructor(clock: Clock, ids: IdSource) {
    this.#clock = clock;
    this.#lastDigit = String((ids.bytes(1)[0] ?? 0) % 10);
  }

  next(): string {
    this.#micros = Math.max(this.#micros + 1, this.#clock.now() * 1000);
    return String(this.#micros) + this.#lastDigit;
  }
}
