const SHIFT = 6;
/** Ids a page covers. */
const PAGE_IDS = 1 << SHIFT;
const MASK = PAGE_IDS - 1;

interface Page<T> {
  used: number;
  readonly items: (T | undefined)[];
}

/**
 * Things by small whole numbers that are handed out in turn: what a Map does, with two steps instead of a hash and a chain.
 * Pages that became empty go, so ids that are never used again cost next to nothing. Ids are below 2^32.
 */
export class IdTable<T extends object> {
  readonly #pages: (Page<T> | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): T | undefined {
    return this.#pages[id >>> SHIFT]?.items[id & MASK];
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  set(id: number, item: T): void {
    const number = id >>> SHIFT;
    // Filled to its end, never with holes: an array with holes is a hash table again.
    while (this.#pages.length <= number) this.#pages.push(undefined);
    const page = (this.#pages[number] ??= {
      used: 0,
      items: Array.from({ length: PAGE_IDS }, () => undefined),
    });
    if (page.items[id & MASK] === undefined) {
      page.used++;
      this.#size++;
    }
    page.items[id & MASK] = item;
  }

  delete(id: number): void {
    const page = this.#pages[id >>> SHIFT];
    if (page?.items[id & MASK] === undefined) return;
    page.items[id & MASK] = undefined;
    this.#size--;
    if (--page.used === 0) this.#pages[id >>> SHIFT] = undefined;
  }

  /** All there are now, by rising ids. */
  values(): T[] {
    const out: T[] = [];
    for (const page of this.#pages) {
      if (page === undefined) continue;
      for (const item of page.items) if (item !== undefined) out.push(item);
    }
    return out;
  }
}
