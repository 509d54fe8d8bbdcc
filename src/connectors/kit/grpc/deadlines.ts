import type { Clock, Timer } from '../../../base/clock.js';
import { DeadlineHeap } from '../../../base/deadline-heap.js';

/** Something that has a deadline. */
export interface Expiring {
  expire(): void;
}

/** The deadlines of all calls of a listener, on one timer. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #heap = new DeadlineHeap();
  readonly #calls: (Expiring | undefined)[] = [];
  readonly #free: number[] = [];
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `call.expire()` in `ms`, unless the handle that is returned is removed before. */
  add(call: Expiring, ms: number): number {
    const handle = this.#free.pop() ?? this.#calls.length;
    this.#calls[handle] = call;
    const now = this.#clock.now();
    this.#heap.set(handle, now + ms);
    if (now + ms < this.#timerAt) this.#arm(now + ms, now);
    return handle;
  }

  /** Only once for each handle, and not after `expire`. */
  remove(handle: number): void {
    this.#heap.remove(handle);
    this.#calls[handle] = undefined;
    this.#free.push(handle);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timerAt = -Infinity;
  }

  #arm(at: number, now: number): void {
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#clock.after(at - now, () => this.#run());
  }

  #run(): void {
    const now = this.#clock.now();
    for (let handle = this.#heap.pop(now); handle !== -1; handle = this.#heap.pop(now)) {
      const call = this.#calls[handle];
      this.#calls[handle] = undefined;
      this.#free.push(handle);
      call?.expire();
    }
    this.#timerAt = Infinity;
    if (this.#heap.size > 0) this.#arm(this.#heap.next, now);
  }
}
