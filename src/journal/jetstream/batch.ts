import type { Position } from '../../core/ports/journal.js';
import { GROUP_HEADER_BYTES, GroupKind } from './group.js';
import type { ExtentIndex } from './extent-index.js';

/** Entries that become one message. */
export class Batch {
  readonly start: Position;
  /** Where the log ends before it. */
  readonly prev: Position;
  /** The extent in whose subject it lies. */
  readonly subject: number;
  readonly kind: GroupKind;
  end: Position;
  entries = 0;
  forced = false;
  /** Its sequence, once it is published: what is expected first, what it is in the end. */
  seq = 0;
  state: 'gathering' | 'sent' | 'stored' | 'conflict' | 'full' | 'unknown' = 'gathering';
  sentAt = 0;
  /** The message, once it is sealed. */
  message: Buffer | undefined;
  #positions: Position[] = [];
  #parts: Uint8Array[] = [];

  constructor(place: { start: Position; prev: Position; subject: number; kind: GroupKind }) {
    this.start = place.start;
    this.prev = place.prev;
    this.subject = place.subject;
    this.kind = place.kind;
    this.end = place.start;
  }

  get bytes(): number {
    return this.end - this.start;
  }

  /** Whether the log has a whole entry more once this is stored. */
  get whole(): boolean {
    return this.kind === GroupKind.entries || this.kind === GroupKind.last;
  }

  add(part: Uint8Array): void {
    this.#positions.push(this.end);
    this.#parts.push(part);
    this.end += part.byteLength;
  }

  /** The message with room for its header. What was handed in is not needed any more. */
  seal(): Buffer {
    if (this.message !== undefined) return this.message;
    const message = Buffer.allocUnsafeSlow(GROUP_HEADER_BYTES + this.bytes);
    let at = GROUP_HEADER_BYTES;
    for (const part of this.#parts) {
      message.set(part, at);
      at += part.byteLength;
    }
    this.message = message;
    this.#parts = [];
    this.#positions = [];
    return message;
  }

  view(position: Position, length: number): Uint8Array | undefined {
    if (position < this.start || position + length > this.end) return undefined;
    if (this.message !== undefined) {
      const at = GROUP_HEADER_BYTES + position - this.start;
      return this.message.subarray(at, at + length);
    }
    let low = 0;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#positions[middle] as number) <= position) low = middle + 1;
      else high = middle;
    }
    const part = this.#parts[low - 1];
    const at = position - (this.#positions[low - 1] ?? position);
    return part === undefined || at + length > part.byteLength ? undefined : part.subarray(at, at + length);
  }

  place(index: ExtentIndex): void {
    index.add({ seq: this.seq, start: this.start, end: this.end }, this.subject);
  }
}

/** The newest messages, as they were handed in or sent; those not stored yet always stay. */
export class RecentBatches {
  readonly #bytesMax: number;
  #batches: Batch[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(batch: Batch): void {
    this.#batches.push(batch);
  }

  /** Lets go of the oldest stored ones beyond the limit. */
  trim(): void {
    this.#bytes = (this.#batches.at(-1)?.end ?? 0) - (this.#batches[0]?.start ?? 0);
    let gone = 0;
    for (const batch of this.#batches) {
      if (this.#bytes <= this.#bytesMax || batch.state !== 'stored') break;
      this.#bytes -= batch.bytes;
      gone += 1;
    }
    // Cut now and then: each cut copies what stays.
    if (gone > 64 || gone * 2 > this.#batches.length) this.#batches = this.#batches.slice(gone);
  }

  /** Forgets everything at or above `from`: it never became part of the log. */
  drop(from: Position): void {
    while ((this.#batches.at(-1)?.start ?? -1) >= from) this.#batches.pop();
  }

  view(position: Position, length: number): Uint8Array | undefined {
    return this.#find(position)?.view(position, length);
  }

  /** As many of these bytes as one message holds. */
  some(position: Position, length: number): Uint8Array | undefined {
    const batch = this.#find(position);
    if (batch === undefined || position >= batch.end) return undefined;
    return batch.view(position, Math.min(length, batch.end - position));
  }

  #find(position: Position): Batch | undefined {
    let low = 0;
    let high = this.#batches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#batches[middle]?.start ?? Number.POSITIVE_INFINITY) <= position) low = middle + 1;
      else high = middle;
    }
    return this.#batches[low - 1];
  }
}
