import { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { Position } from '../../core/ports/journal.js';

/** A message of the log: where its bytes begin and which message it is. */
export interface Place {
  readonly seq: number;
  readonly start: Position;
  readonly end: Position;
}

interface Extent {
  // In parallel, rising.
  readonly starts: number[];
  readonly seqs: number[];
  end: Position;
  bytes: number;
}

/** Which message holds which bytes of the log: 16 bytes of memory a message. */
export class ExtentIndex {
  readonly #extentBytes: number;
  readonly #extents = new Map<number, Extent>();
  /** By first extent of an entry larger than one: its last extent. */
  readonly #spans = new Map<number, number>();
  bytes = 0;

  constructor(extentBytes: number) {
    this.#extentBytes = extentBytes;
  }

  /** Messages come in the order of the log. `subject`: the extent in whose subject it lies. */
  add(place: Place, subject: number): void {
    const number = Math.floor(place.start / this.#extentBytes);
    let extent = this.#extents.get(number);
    if (extent === undefined) {
      extent = { starts: [], seqs: [], end: 0, bytes: 0 };
      this.#extents.set(number, extent);
    }
    extent.starts.push(place.start);
    extent.seqs.push(place.seq);
    extent.end = place.end;
    extent.bytes += place.end - place.start;
    this.bytes += place.end - place.start;
    const last = Math.floor((place.end - 1) / this.#extentBytes);
    if (last > subject) this.#spans.set(subject, Math.max(last, this.#spans.get(subject) ?? 0));
  }

  /** The message that holds the byte at `position`. */
  find(position: Position): Place | undefined {
    const home = Math.floor(position / this.#extentBytes);
    // A part of a large entry may begin in the extent before.
    for (let number = home; number >= Math.max(0, home - this.#reach); number--) {
      const extent = this.#extents.get(number);
      if (extent === undefined) continue;
      const at = lastAtOrBelow(extent.starts, position);
      if (at < 0) continue;
      const end = extent.starts[at + 1] ?? extent.end;
      const place = { seq: extent.seqs[at] as number, start: extent.starts[at] as number, end };
      return position < end ? place : undefined;
    }
    return undefined;
  }

  /** Extents a message may reach back over; one message is never larger than the widest entry. */
  get #reach(): number {
    let reach = 0;
    for (const [first, last] of this.#spans) reach = Math.max(reach, last - first);
    return reach;
  }

  /** All extents with bytes in them, rising. */
  extents(): number[] {
    const all = new Set(this.#extents.keys());
    for (const [first, last] of this.#spans) for (let n = first; n <= last; n++) all.add(n);
    return [...all].sort((a, b) => a - b);
  }

  /** Extents that go together with `extent`, and the one in whose subject they lie. */
  spanOf(extent: number): { readonly first: number; readonly last: number } {
    for (const [first, last] of this.#spans) if (extent >= first && extent <= last) return { first, last };
    return { first: extent, last: extent };
  }

  /** Forgets extents [first, last]. */
  drop(first: number, last: number): void {
    for (let number = first; number <= last; number++) {
      this.bytes -= this.#extents.get(number)?.bytes ?? 0;
      this.#extents.delete(number);
    }
    this.#spans.delete(first);
  }

  encode(): Uint8Array {
    const w = new ByteWriter(4096);
    w.varint(this.#spans.size);
    for (const [first, last] of this.#spans) {
      w.varint(first);
      w.varint(last);
    }
    const numbers = [...this.#extents.keys()].sort((a, b) => a - b);
    w.varint(numbers.length);
    for (const number of numbers) {
      const { starts, seqs, end } = this.#extents.get(number) as Extent;
      w.varint(number);
      w.varint(starts.length);
      let start = number * this.#extentBytes;
      let seq = 0;
      for (let i = 0; i < starts.length; i++) {
        w.varint((starts[i] as number) - start);
        w.varint((seqs[i] as number) - seq);
        start = starts[i] as number;
        seq = seqs[i] as number;
      }
      w.varint(end - start);
    }
    return w.buffer.subarray(0, w.length);
  }

  /** Adds what `encode` wrote, as far as it lies in messages below `beforeSeq`. */
  decode(bytes: Uint8Array, beforeSeq: number): void {
    const r = new ByteReader(bytes);
    const spans = new Map<number, number>();
    for (let left = r.varint(); left > 0; left--) spans.set(r.varint(), r.varint());
    for (let left = r.varint(); left > 0; left--) {
      const number = r.varint();
      const count = r.varint();
      const starts: number[] = [];
      const seqs: number[] = [];
      let start = number * this.#extentBytes;
      let seq = 0;
      for (let i = 0; i < count; i++) {
        start += r.varint();
        seq += r.varint();
        starts.push(start);
        seqs.push(seq);
      }
      starts.push(start + r.varint());
      for (let i = 0; i < count && (seqs[i] as number) < beforeSeq; i++) {
        const place = { seq: seqs[i] as number, start: starts[i] as number, end: starts[i + 1] as number };
        this.add(place, firstOf(spans, number));
      }
    }
  }
}

function firstOf(spans: ReadonlyMap<number, number>, number: number): number {
  for (const [first, last] of spans) if (number >= first && number <= last) return first;
  return number;
}

/** Index of the last value at or below `wanted`, -1 when there is none. */
function lastAtOrBelow(values: readonly number[], wanted: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
