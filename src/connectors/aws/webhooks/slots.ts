/** A bound on what runs at once; waiters are served in the order they came. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves with whether a slot is held; false when the signal fired first. */
  take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const served = (): void => {
        signal.removeEventListener('abort', left);
        resolve(true);
      };
      const left = (): void => {
        this.#waiting.delete(served);
        resolve(false);
      };
      signal.addEventListener('abort', left, { once: true });
      this.#waiting.add(served);
    });
  }

  /** Gives a held slot to the next waiter. */
  release(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next();
      return;
    }
    this.#free++;
  }
}
