/** Slots a chunk holds; a slot is chunk number * this + index. */
export const CHUNK_SLOTS = 16384;
const SHIFT = 14;
const MASK = CHUNK_SLOTS - 1;

/** Bytes one slot takes, all columns together. */
export const SLOT_BYTES = 8 + 8 + 8 + 4 + 4 + 4 + 4 + 4 + 2 + 1 + 1 + 4;

export const NO_SLOT = -1;

/** What a slot's message is doing. */
export const State = {
  free: 0,
  /** Appended, not yet committed. */
  pending: 1,
  ready: 2,
  delayed: 3,
  inFlight: 4,
  /** Taken from its list while its body is read or its next place is written. */
  picked: 5,
} as const;

/** The columns of CHUNK_SLOTS messages, laid over one block of memory so that a checkpoint copies it at once. */
export class Chunk {
  readonly memory: ArrayBuffer;
  /** Where its columns begin in it, and what one slot takes of each. */
  readonly columns: { readonly start: number; readonly bytesPerSlot: number }[] = [];
  readonly sequence: Float64Array;
  /** Journal position of the message's bytes; -1 = kept in memory only. */
  readonly position: Float64Array;
  /** Unix ms. */
  readonly enqueuedAt: Float64Array;
  readonly length: Uint32Array;
  readonly next: Int32Array;
  readonly prev: Int32Array;
  readonly queue: Uint32Array;
  /** Ms after enqueuedAt of the first delivery; 0 = never delivered. */
  readonly firstReceived: Uint32Array;
  readonly count: Uint16Array;
  readonly state: Uint8Array;
  readonly priority: Uint8Array;
  /** Of `length`, what is body: what bounds of bytes count. Last, so that older checkpoints are chunks without it. */
  readonly bodyBytes: Uint32Array;

  constructor(memory: ArrayBuffer = new ArrayBuffer(CHUNK_SLOTS * SLOT_BYTES)) {
    this.memory = memory;
    let at = 0;
    const place = (bytesPerSlot: number): number => {
      const start = at;
      at += bytesPerSlot * CHUNK_SLOTS;
      this.columns.push({ start, bytesPerSlot });
      return start;
    };
    this.sequence = new Float64Array(memory, place(8), CHUNK_SLOTS);
    this.position = new Float64Array(memory, place(8), CHUNK_SLOTS);
    this.enqueuedAt = new Float64Array(memory, place(8), CHUNK_SLOTS);
    this.length = new Uint32Array(memory, place(4), CHUNK_SLOTS);
    this.next = new Int32Array(memory, place(4), CHUNK_SLOTS);
    this.prev = new Int32Array(memory, place(4), CHUNK_SLOTS);
    this.queue = new Uint32Array(memory, place(4), CHUNK_SLOTS);
    this.firstReceived = new Uint32Array(memory, place(4), CHUNK_SLOTS);
    this.count = new Uint16Array(memory, place(2), CHUNK_SLOTS);
    this.state = new Uint8Array(memory, place(1), CHUNK_SLOTS);
    this.priority = new Uint8Array(memory, place(1), CHUNK_SLOTS);
    this.bodyBytes = new Uint32Array(memory, place(4), CHUNK_SLOTS);
  }
}

/** What a slot refers to: so many bytes, and how many of them are body. */
export interface Stored {
  readonly length: number;
  readonly bodyBytes: number;
}

/** What few messages have: kept beside the columns. Unix ms; 0 or '' = none. */
export interface Extras {
  expiresAt: number;
  delayedTo: number;
  maxReceiveCount: number;
  maxReceiveQueue: string;
  reRoutedFrom: string;
  /** Deliveries that were made and do not count. */
  uncounted: number;
}

/**
 * Every message of a partition, whatever its queue: columns in typed arrays, by slot. A waiting message costs SLOT_BYTES
 * and no object, so millions of them neither fill the heap nor slow the collector.
 */
export class MessageTable {
  readonly chunks: Chunk[] = [];
  readonly extras = new Map<number, Extras>();
  /** Bytes of messages that are kept off the journal, by slot. */
  readonly memory = new Map<number, Uint8Array>();
  memoryBytes = 0;
  #freeHead = NO_SLOT;
  #fresh = 0;
  #used = 0;

  /** Slots in use. */
  get used(): number {
    return this.#used;
  }

  /** Slots handed out so far, used or free again: every used slot is below it. */
  get end(): number {
    return this.#fresh;
  }

  chunk(slot: number): Chunk {
    // Slots come from this table, so their chunk exists.
    return this.chunks[slot >>> SHIFT] as Chunk;
  }

  index(slot: number): number {
    return slot & MASK;
  }

  /** A pending slot of a queue; what else it has is set by the caller. */
  allocate(queue: number, position: number, stored: Stored): number {
    let slot = this.#freeHead;
    if (slot !== NO_SLOT) {
      this.#freeHead = this.chunk(slot).next[slot & MASK] as number;
    } else {
      slot = this.#fresh++;
      if (slot >>> SHIFT >= this.chunks.length) this.chunks.push(new Chunk());
    }
    const c = this.chunk(slot);
    const i = slot & MASK;
    c.sequence[i] = 0;
    c.position[i] = position;
    c.enqueuedAt[i] = 0;
    c.length[i] = stored.length;
    c.next[i] = NO_SLOT;
    c.prev[i] = NO_SLOT;
    c.queue[i] = queue;
    c.firstReceived[i] = 0;
    c.count[i] = 0;
    c.state[i] = State.pending;
    c.priority[i] = 0;
    c.bodyBytes[i] = stored.bodyBytes;
    this.#used++;
    return slot;
  }

  release(slot: number): void {
    const c = this.chunk(slot);
    const i = slot & MASK;
    c.state[i] = State.free;
    c.next[i] = this.#freeHead;
    this.#freeHead = slot;
    this.#used--;
    if (this.extras.size > 0) this.extras.delete(slot);
    if (c.position[i] === -1) this.forgetMemory(slot);
  }

  keepInMemory(slot: number, bytes: Uint8Array): void {
    this.memory.set(slot, bytes);
    this.memoryBytes += bytes.length;
  }

  forgetMemory(slot: number): void {
    const bytes = this.memory.get(slot);
    if (bytes === undefined) return;
    this.memory.delete(slot);
    this.memoryBytes -= bytes.length;
  }

  sequence(slot: number): number {
    return this.chunk(slot).sequence[slot & MASK] as number;
  }

  position(slot: number): number {
    return this.chunk(slot).position[slot & MASK] as number;
  }

  length(slot: number): number {
    return this.chunk(slot).length[slot & MASK] as number;
  }

  bodyBytes(slot: number): number {
    return this.chunk(slot).bodyBytes[slot & MASK] as number;
  }

  enqueuedAt(slot: number): number {
    return this.chunk(slot).enqueuedAt[slot & MASK] as number;
  }

  queue(slot: number): number {
    return this.chunk(slot).queue[slot & MASK] as number;
  }

  /** Deliveries made, those that do not count included: no two leases of a message have the same. */
  count(slot: number): number {
    return this.chunk(slot).count[slot & MASK] as number;
  }

  /** Deliveries that count. */
  receives(slot: number): number {
    const uncounted = this.extras.size > 0 ? (this.extras.get(slot)?.uncounted ?? 0) : 0;
    return this.count(slot) - uncounted;
  }

  state(slot: number): number {
    return this.chunk(slot).state[slot & MASK] as number;
  }

  priority(slot: number): number {
    return this.chunk(slot).priority[slot & MASK] as number;
  }

  next(slot: number): number {
    return this.chunk(slot).next[slot & MASK] as number;
  }

  setState(slot: number, state: number): void {
    this.chunk(slot).state[slot & MASK] = state;
  }

  /** The slot's extras, made when it has none. */
  extrasOf(slot: number): Extras {
    let extras = this.extras.get(slot);
    if (extras === undefined) {
      extras = {
        expiresAt: 0,
        delayedTo: 0,
        maxReceiveCount: 0,
        maxReceiveQueue: '',
        reRoutedFrom: '',
        uncounted: 0,
      };
      this.extras.set(slot, extras);
    }
    return extras;
  }

  /** Takes over chunks read from a checkpoint: `end` slots, of which `isFree` tells the free ones. */
  restore(
    chunks: readonly Chunk[],
    end: number,
    isFree: (chunk: Chunk, i: number, slot: number) => boolean,
  ): void {
    for (const chunk of chunks) this.chunks.push(chunk);
    this.#fresh = end;
    for (let slot = end - 1; slot >= 0; slot--) {
      const c = this.chunk(slot);
      const i = slot & MASK;
      if (isFree(c, i, slot)) {
        c.state[i] = State.free;
        c.next[i] = this.#freeHead;
        this.#freeHead = slot;
      } else {
        this.#used++;
      }
    }
  }
}
