import type { Clock, Timer } from '../../../base/clock.js';

export interface AckTimeoutsOptions {
  readonly isOutstanding: (tag: number) => boolean;
  /** A delivery is still outstanding when its time is over. It is looked at no more. */
  readonly onLate: (tag: number, timeoutMs: number) => void;
}

interface Waiting {
  readonly tag: number;
  /** Unix ms. */
  readonly dueAt: number;
}

/** Entries kept for deliveries that were acknowledged meanwhile, before they are thrown out. */
const STALE_MAX = 1024;

/**
 * How long deliveries of one channel may wait for their acknowledgements. Each duration has a queue of its own, which is in
 * order of time by itself; one timer waits for the first of all. Acknowledging costs nothing here.
 */
export class AckTimeouts {
  readonly #clock: Clock;
  readonly #options: AckTimeoutsOptions;
  /** By duration. */
  readonly #waiting = new Map<number, Waiting[]>();
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock, options: AckTimeoutsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  add(tag: number, timeoutMs: number): void {
    const dueAt = this.#clock.now() + timeoutMs;
    let waiting = this.#waiting.get(timeoutMs);
    if (waiting === undefined) this.#waiting.set(timeoutMs, (waiting = []));
    waiting.push({ tag, dueAt });
    // Amortized: what is left has at most doubled since the last time.
    if (waiting.length > STALE_MAX && (waiting.length & (waiting.length - 1)) === 0) {
      this.#waiting.set(
        timeoutMs,
        waiting.filter((one) => this.#options.isOutstanding(one.tag)),
      );
    }
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#waiting.clear();
  }

  #arm(): void {
    let next = Infinity;
    for (const [first] of this.#waiting.values()) next = Math.min(next, first?.dueAt ?? Infinity);
    if (next >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = next;
    this.#timer = this.#clock.after(Math.max(next - this.#clock.now(), 0), () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    this.#timerAt = Infinity;
    const now = this.#clock.now();
    for (const [timeoutMs, waiting] of [...this.#waiting]) {
      let passed = 0;
      for (const { tag, dueAt } of waiting) {
        if (dueAt > now) break;
        passed++;
        if (this.#options.isOutstanding(tag)) this.#options.onLate(tag, timeoutMs);
      }
      waiting.splice(0, passed);
      if (waiting.length === 0) this.#waiting.delete(timeoutMs);
    }
    this.#arm();
  }
}
