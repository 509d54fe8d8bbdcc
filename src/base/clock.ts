/** Wall-clock time and timers, injected so that tests can move both. */
export interface Clock {
  /** Unix time in whole milliseconds. */
  now(): number;
  /** Calls `run` once, `delayMs` from now. A timer never keeps the process alive by itself. */
  after(delayMs: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** The machine's clock. */
export class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }

  after(delayMs: number, run: () => void): Timer {
    // Node clamps longer delays to 1 ms; callers re-arm, so an early wake is harmless and a short one is not.
    const handle = setTimeout(run, Math.min(Math.max(delayMs, 0), 0x7fffffff));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  }
}

interface ManualTimer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until moved: time and timers of tests and of the simulation. */
export class ManualClock implements Clock {
  #now: number;
  #order = 0;
  readonly #timers = new Set<ManualTimer>();

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): Timer {
    const timer: ManualTimer = { at: this.#now + Math.max(delayMs, 0), order: this.#order++, run };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Number of timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time forward by `ms`, running every timer that falls due in order of its time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      let next: ManualTimer | undefined;
      for (const timer of this.#timers) {
        if (timer.at > end) continue;
        if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) {
          next = timer;
        }
      }
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
  }
}
