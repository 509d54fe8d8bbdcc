import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type { Checkpoint, Position } from '../../core/ports/journal.js';

export interface MemoryEntry {
  readonly position: Position;
  readonly bytes: Uint8Array;
  readonly forced: boolean;
}

/** What stays of a memory journal when it ends: enough to open another one. Immutable. */
export interface MemoryImage {
  readonly extentBytes: number;
  readonly nextExtent: number;
  readonly entries: readonly MemoryEntry[];
  readonly checkpoints: readonly Checkpoint[];
}

export function emptyImage(extentBytes: number): MemoryImage {
  return { extentBytes, nextExtent: 0, entries: [], checkpoints: [] };
}

/** Committed entries by extent, in order of position. */
export class EntryTable {
  readonly #extentBytes: number;
  readonly #extents = new Map<number, MemoryEntry[]>();
  /** By extent that an oversized entry reaches into: the one it begins in. */
  readonly #begins = new Map<number, number>();
  /** Extents of oversized entries that were dropped already: the entry goes with its last one. */
  readonly #dropped = new Set<number>();
  usedBytes = 0;

  constructor(image: MemoryImage) {
    this.#extentBytes = image.extentBytes;
    this.add(image.entries);
  }

  add(entries: readonly MemoryEntry[]): void {
    for (const entry of entries) {
      const extent = Math.floor(entry.position / this.#extentBytes);
      const list = this.#extents.get(extent);
      if (list === undefined) this.#extents.set(extent, [entry]);
      else list.push(entry);
      for (let e = extent + 1; e < this.#endExtent(entry); e++) this.#begins.set(e, extent);
      this.usedBytes += entry.bytes.byteLength;
    }
  }

  extents(): number[] {
    const held = [...this.#extents.keys(), ...this.#begins.keys()].filter((e) => !this.#dropped.has(e));
    return held.sort((a, b) => a - b);
  }

  /** One past the last extent an entry lies in. */
  #endExtent(entry: MemoryEntry): number {
    return Math.ceil((entry.position + entry.bytes.byteLength) / this.#extentBytes);
  }

  /** Entries whose header lies at or above `position`, in order. */
  from(position: Position): MemoryEntry[] {
    const found: MemoryEntry[] = [];
    for (const extent of [...this.#extents.keys()].sort((a, b) => a - b)) {
      if ((extent + 1) * this.#extentBytes <= position) continue;
      for (const entry of this.#extents.get(extent) ?? []) if (entry.position >= position) found.push(entry);
    }
    return found;
  }

  /** The bytes at [position, position + length) when they lie inside one entry's payload. */
  bytes(position: Position, length: number): Uint8Array | undefined {
    // An oversized entry begins in an earlier extent than the one its later bytes lie in.
    for (let extent = Math.floor(position / this.#extentBytes); extent >= 0; extent--) {
      const list = this.#extents.get(extent);
      if (list === undefined) continue;
      const entry = list[lastAtOrBelow(list, position)];
      if (entry === undefined) continue;
      const at = position - entry.position;
      if (at < ENTRY_HEADER_BYTES || at + length > entry.bytes.byteLength) return undefined;
      return entry.bytes.subarray(at, at + length);
    }
    return undefined;
  }

  drop(extent: number): void {
    const first = this.#begins.get(extent) ?? extent;
    const entries = this.#extents.get(first) ?? [];
    this.#dropped.add(extent);
    const all = [first];
    for (let e = first + 1; this.#begins.get(e) === first; e++) all.push(e);
    if (!all.every((e) => this.#dropped.has(e))) return;
    for (const entry of entries) this.usedBytes -= entry.bytes.byteLength;
    this.#extents.delete(first);
    for (const e of all) {
      this.#begins.delete(e);
      this.#dropped.delete(e);
    }
  }

  /** Everything below `below`, then `kept`, opening at an extent that `end` never reached. */
  image(
    below: Position,
    kept: readonly MemoryEntry[],
    checkpoints: readonly Checkpoint[],
    end: Position,
  ): MemoryImage {
    const entries = this.from(0).filter((entry) => entry.position < below);
    return {
      extentBytes: this.#extentBytes,
      nextExtent: Math.ceil(end / this.#extentBytes),
      entries: [...entries, ...kept],
      checkpoints,
    };
  }
}

/** Index of the last entry at or below `position`, -1 when there is none. */
function lastAtOrBelow(list: readonly MemoryEntry[], position: Position): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.position ?? Number.POSITIVE_INFINITY) <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
