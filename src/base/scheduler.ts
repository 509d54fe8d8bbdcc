import type { Clock, Timer } from './clock.js';
import { DeadlineHeap } from './deadline-heap.js';

/** Something with deadlines of its own. */
export interface DeadlineSource {
  /** Unix ms of the earliest deadline; Infinity = none. */
  readonly next: number;
  /** Handles everything due at `now`. */
  run(now: number): void;
}

/** Deadlines closer together than this are handled in one go. */
export const SCHEDULER_GRAIN_MS = 10;

/** One timer of the clock for any number of deadlines: armed for the earliest, and for none when there is none. */
export class Scheduler {
  readonly #clock: Clock;
  readonly #sources: DeadlineSource[] = [];
  #timer: Timer | undefined;
  #armedFor = Infinity;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(source: DeadlineSource): void {
    this.#sources.push(source);
  }

  /** Call after deadlines were set: arms the timer when one of them is earlier. */
  poke(): void {
    let next = Infinity;
    for (const source of this.#sources) if (source.next < next) next = source.next;
    if (next >= this.#armedFor || this.#stopped) return;
    this.#timer?.cancel();
    this.#armedFor = next;
    this.#timer = this.#clock.after(Math.max(next - this.#clock.now(), SCHEDULER_GRAIN_MS), this.#fire);
  }

  readonly #fire = (): void => {
    this.#armedFor = Infinity;
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const source of this.#sources) if (source.next <= now) source.run(now);
    this.poke();
  };

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }
}

/** Callbacks at deadlines, cancellable: for things that are few or short-lived. */
export class Timeouts implements DeadlineSource {
  readonly #heap = new DeadlineHeap();
  readonly #callbacks: ((() => void) | undefined)[] = [];
  readonly #free: number[] = [];

  get next(): number {
    return this.#heap.next;
  }

  /** Calls `run` at `deadline` (Unix ms). The number returned cancels it. */
  set(deadline: number, run: () => void): number {
    const handle = this.#free.pop() ?? this.#callbacks.length;
    this.#callbacks[handle] = run;
    this.#heap.set(handle, deadline);
    return handle;
  }

  /** Cancel exactly once, and not after it ran. */
  cancel(handle: number): void {
    this.#heap.remove(handle);
    this.#callbacks[handle] = undefined;
    this.#free.push(handle);
  }

  run(now: number): void {
    for (let handle = this.#heap.pop(now); handle >= 0; handle = this.#heap.pop(now)) {
      const callback = this.#callbacks[handle];
      this.#callbacks[handle] = undefined;
      this.#free.push(handle);
      callback?.();
    }
  }
}
