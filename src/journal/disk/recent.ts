import type { Position } from '../../core/ports/journal.js';
import type { Batch } from './batch.js';

/** The newest batches, kept in memory as they were handed in: what was just written is what is read next. */
export class RecentBytes {
  readonly #bytesMax: number;
  #batches: Batch[] = [];
  /** Batches before this index were let go; the array is cut when they become many. */
  #first = 0;
  /** The batch found last: readers walk forward. */
  #hint = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(batch: Batch): void {
    this.#batches.push(batch);
  }

  /** Lets go of the oldest batches beyond the limit. Those not yet written always stay. */
  trim(): void {
    const batches = this.#batches;
    const end = batches.at(-1)?.end ?? 0;
    for (let oldest = batches[this.#first]; oldest?.state === 'written'; oldest = batches[this.#first]) {
      if (end - oldest.start <= this.#bytesMax) break;
      this.#first += 1;
      oldest.release();
    }
    if (this.#first > 64 && this.#first * 2 > this.#batches.length) {
      this.#batches = this.#batches.slice(this.#first);
      this.#first = 0;
      this.#hint = 0;
    }
  }

  /** Forgets everything at or above `from`: it never became part of the log. */
  drop(from: Position): void {
    while (this.#batches.length > this.#first && (this.#batches.at(-1)?.start ?? -1) >= from)
      this.#batches.pop();
  }

  view(position: Position, length: number): Uint8Array | undefined {
    const batches = this.#batches;
    let index = this.#hint;
    let batch = batches[index];
    if (batch === undefined || index < this.#first || position < batch.start || position >= batch.end) {
      index += 1;
      batch = batches[index];
      if (batch === undefined || index <= this.#first || position < batch.start || position >= batch.end) {
        index = this.#search(position);
        batch = batches[index];
        if (batch === undefined || index < this.#first || position >= batch.end) return undefined;
      }
      this.#hint = index;
    }
    return batch.view(position, length);
  }

  /** Index of the last batch that starts at or below `position`. */
  #search(position: Position): number {
    let low = this.#first;
    let high = this.#batches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#batches[middle]?.start ?? Number.POSITIVE_INFINITY) <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
