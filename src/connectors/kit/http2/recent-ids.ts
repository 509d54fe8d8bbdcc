const KEPT_MAX = 256;

/** The last few streams that we reset: frames that the peer sent before it knew are no fault of its. */
export class RecentIds {
  readonly #ids = new Set<number>();

  add(id: number): void {
    this.#ids.add(id);
    if (this.#ids.size <= KEPT_MAX) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      return;
    }
  }

  has(id: number): boolean {
    return this.#ids.has(id);
  }
}
