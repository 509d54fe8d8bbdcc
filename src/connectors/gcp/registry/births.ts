/**
 * When resources are made. That time tells a resource from a former one of its name, so no two of a name have the same, however
 * quickly they follow each other.
 */
export class Births {
  /** Of names that may come again within their millisecond. */
  readonly #recent = new Map<string, number>();

  /** The time for a resource made `now`, in Unix ms. */
  of(kind: string, id: string, now: number): number {
    for (const [name, time] of this.#recent) if (time < now) this.#recent.delete(name);
    const name = `${kind}/${id}`;
    const time = Math.max(now, (this.#recent.get(name) ?? 0) + 1);
    this.#recent.set(name, time);
    return time;
  }
}
