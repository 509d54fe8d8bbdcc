/** Events a full chunk holds: two to the power of CHUNK_BITS. */
const CHUNK_BITS = 12;
const CHUNK_EVENTS = 1 << CHUNK_BITS;
const IN_CHUNK = CHUNK_EVENTS - 1;
const FIRST_CAPACITY = 32;

class IndexChunk {
  readonly positions: Float64Array;
  readonly storedAt: Float64Array;
  readonly lengths: Uint32Array;

  constructor(capacity: number) {
    this.positions = new Float64Array(capacity);
    this.storedAt = new Float64Array(capacity);
    this.lengths = new Uint32Array(capacity);
  }

  get capacity(): number {
    return this.lengths.length;
  }
}

/** Where the events of a log lie in the journal, by sequence: three columns, 20 bytes an event. */
export class EventIndex {
  #chunks: IndexChunk[] = [];
  /** Sequence of the first place of the first chunk. */
  #base = 1;
  #first = 1;
  #end = 1;

  /** First retained sequence. */
  get first(): number {
    return this.#first;
  }

  /** One past the last sequence. */
  get end(): number {
    return this.#end;
  }

  get size(): number {
    return this.#end - this.#first;
  }

  /** Begins an empty index at `sequence`. */
  startAt(sequence: number): void {
    this.#chunks = [];
    this.#base = this.#first = this.#end = sequence;
  }

  push(position: number, length: number, storedAt: number): void {
    const offset = this.#end - this.#base;
    const at = offset >>> CHUNK_BITS;
    const i = offset & IN_CHUNK;
    let chunk = this.#chunks[at];
    if (chunk === undefined) {
      // Many logs hold a handful of events: only a log that grew beyond one chunk gets full ones at once.
      chunk = new IndexChunk(at === 0 ? FIRST_CAPACITY : CHUNK_EVENTS);
      this.#chunks[at] = chunk;
    } else if (i >= chunk.capacity) {
      const grown = new IndexChunk(Math.min(CHUNK_EVENTS, chunk.capacity * 4));
      grown.positions.set(chunk.positions);
      grown.storedAt.set(chunk.storedAt);
      grown.lengths.set(chunk.lengths);
      chunk = grown;
      this.#chunks[at] = chunk;
    }
    chunk.positions[i] = position;
    chunk.storedAt[i] = storedAt;
    chunk.lengths[i] = length;
    this.#end++;
  }

  #chunk(sequence: number): IndexChunk {
    return this.#chunks[(sequence - this.#base) >>> CHUNK_BITS] as IndexChunk;
  }

  position(sequence: number): number {
    return this.#chunk(sequence).positions[(sequence - this.#base) & IN_CHUNK] ?? 0;
  }

  length(sequence: number): number {
    return this.#chunk(sequence).lengths[(sequence - this.#base) & IN_CHUNK] ?? 0;
  }

  storedAt(sequence: number): number {
    return this.#chunk(sequence).storedAt[(sequence - this.#base) & IN_CHUNK] ?? 0;
  }

  setPosition(sequence: number, position: number): void {
    this.#chunk(sequence).positions[(sequence - this.#base) & IN_CHUNK] = position;
  }

  /** Moves the positions of `[first, end)` by `base`. */
  shift(first: number, end: number, base: number): void {
    for (let s = first; s < end; s++) {
      const { positions } = this.#chunk(s);
      const i = (s - this.#base) & IN_CHUNK;
      positions[i] = (positions[i] ?? 0) + base;
    }
  }

  /** Forgets everything before `sequence`. */
  trim(sequence: number): void {
    this.#first = Math.min(Math.max(sequence, this.#first), this.#end);
    while (this.#first - this.#base >= CHUNK_EVENTS) {
      this.#chunks.shift();
      this.#base += CHUNK_EVENTS;
    }
  }

  /** Takes back what was pushed from `sequence` on. */
  truncate(sequence: number): void {
    this.#end = Math.max(this.#first, Math.min(sequence, this.#end));
  }

  /** First sequence stored at or after `time`; `end` when there is none. */
  atTime(time: number): number {
    let low = this.#first;
    let high = this.#end;
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2);
      if (this.storedAt(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
