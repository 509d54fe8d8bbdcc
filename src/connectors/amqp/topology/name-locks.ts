/** Runs changes of the same names one after the other, and of different names side by side. First come, first served. */
export class NameLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `change` when all earlier ones that hold one of `names` have ended. */
  async run<T>(names: readonly string[], change: () => Promise<T>): Promise<T> {
    const before = names.map((name) => this.#tails.get(name)).filter((tail) => tail !== undefined);
    const running = Promise.all(before).then(change);
    const tail = running.then(
      () => undefined,
      () => undefined,
    );
    // Set before anything is awaited: two changes can then never wait for each other.
    for (const name of names) this.#tails.set(name, tail);
    try {
      return await running;
    } finally {
      for (const name of names) if (this.#tails.get(name) === tail) this.#tails.delete(name);
    }
  }
}
