import type { Position } from '../ports/journal.js';

/** Bytes still referred to, by extent of the journal: what the cleaner and the deletion of old extents go by. */
export class LiveExtents {
  readonly #bytes = new Map<number, number>();
  readonly #extentBytes: number;
  #total = 0;
  // Most changes hit one extent again and again; its figure is kept here and written back when another one comes.
  #hot = -1;
  #hotBytes = 0;
  /** Extents in which several may refer to the same bytes, which are counted once for each. */
  readonly #shared = new Set<number>();
  #sharedLast = -1;

  constructor(extentBytes: number) {
    this.#extentBytes = extentBytes;
  }

  get total(): number {
    return this.#total;
  }

  add(position: Position, bytes: number): void {
    if (position < 0) return;
    this.#load(Math.floor(position / this.#extentBytes));
    this.#hotBytes += bytes;
    this.#total += bytes;
  }

  remove(position: Position, bytes: number): void {
    this.add(position, -bytes);
  }

  /** Live bytes of an extent. */
  of(extent: number): number {
    this.#load(extent);
    return this.#hotBytes;
  }

  /** Somebody else may refer to what lies here, too. */
  share(position: Position): void {
    if (position < 0) return;
    const extent = Math.floor(position / this.#extentBytes);
    if (extent === this.#sharedLast) return;
    this.#sharedLast = extent;
    this.#shared.add(extent);
  }

  /** Likewise for all there is: nobody knows. */
  shareAll(): void {
    for (const extent of this.extents()) this.#shared.add(extent);
  }

  /** An extent whose figure may be too high. */
  isShared(extent: number): boolean {
    return this.#shared.has(extent);
  }

  /** What lies in the extent is referred to once each. */
  unshare(extent: number): void {
    this.#sharedLast = -1;
    this.#shared.delete(extent);
  }

  /** All extents that hold live bytes, ascending. */
  extents(): number[] {
    this.#load(-1);
    return [...this.#bytes.keys()].sort((a, b) => a - b);
  }

  #load(extent: number): void {
    if (extent === this.#hot) return;
    if (this.#hot >= 0) {
      if (this.#hotBytes > 0) {
        this.#bytes.set(this.#hot, this.#hotBytes);
      } else {
        this.#bytes.delete(this.#hot);
        if (this.#shared.size > 0) this.unshare(this.#hot);
      }
    }
    this.#hot = extent;
    this.#hotBytes = this.#bytes.get(extent) ?? 0;
  }
}
