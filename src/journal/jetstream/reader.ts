import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import type { RecentBatches } from './batch.js';
import type { ExtentIndex, Place } from './extent-index.js';
import { GROUP_HEADER_BYTES, readGroup } from './group.js';
import { readMessage, type ReadParts } from './range.js';

/** Bytes of messages that were fetched, kept in memory. */
const CACHE_BYTES_MAX = 64 << 20;
/** Messages fetched ahead of a reader that walks forward. */
const AHEAD = 3;
/** A fetch that nobody answered is asked for again so often; whoever wants the message tries again later. */
const TRIES = 5;

interface Block {
  readonly place: Place;
  readonly bytes: Uint8Array;
}

/** Reads the log by position: what is in memory at once, everything else by fetching its message. */
export class Reader {
  readonly #p: ReadParts;
  readonly #recent: RecentBatches;
  readonly #index: ExtentIndex;
  /** By sequence, the one used longest ago first. */
  readonly #blocks = new Map<number, Block>();
  readonly #loading = new Map<number, Promise<Block>>();
  #bytes = 0;
  #last: Block | undefined;

  constructor(parts: ReadParts, recent: RecentBatches, index: ExtentIndex) {
    this.#p = parts;
    this.#recent = recent;
    this.#index = index;
  }

  peek(position: Position, length: number): Uint8Array | undefined {
    const last = this.#last === undefined ? undefined : view(this.#last, position, length);
    if (last !== undefined) return last;
    const recent = this.#recent.view(position, length);
    if (recent !== undefined) return recent;
    const place = this.#index.find(position);
    const block = place === undefined ? undefined : this.#blocks.get(place.seq);
    if (block === undefined) return undefined;
    this.#use(block);
    return view(block, position, length);
  }

  async read(position: Position, length: number): Promise<Uint8Array> {
    const found = this.peek(position, length);
    if (found !== undefined) return found;
    const parts: Uint8Array[] = [];
    for (let at = position; at < position + length;) {
      const recent = this.#recent.some(at, position + length - at);
      if (recent !== undefined) {
        parts.push(recent);
        at += recent.byteLength;
        continue;
      }
      const place = this.#index.find(at);
      if (place === undefined) throw missing(position, length);
      const block = await this.#load(place);
      this.#use(block);
      const end = Math.min(place.end, position + length);
      parts.push(block.bytes.subarray(at - place.start, end - place.start));
      at = end;
    }
    return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
  }

  /** Forgets messages in [from, to): they are gone. */
  forget(from: Position, to: Position): void {
    for (const [seq, { place }] of this.#blocks)
      if (place.start >= from && place.start < to) this.#remove(seq);
    if (this.#last !== undefined && this.#last.place.start >= from && this.#last.place.start < to)
      this.#last = undefined;
  }

  #use(block: Block): void {
    if (block === this.#last) return;
    const walks = this.#last !== undefined && this.#last.place.end === block.place.start;
    this.#last = block;
    if (this.#blocks.delete(block.place.seq)) this.#blocks.set(block.place.seq, block);
    if (!walks) return;
    let { end } = block.place;
    for (let i = 0; i < AHEAD; i++) {
      const next = this.#index.find(end);
      if (next === undefined || this.#recent.view(next.start, 1) !== undefined) return;
      // Whoever needs it asks again, and then sees the error.
      if (!this.#blocks.has(next.seq)) this.#load(next).catch(() => undefined);
      end = next.end;
    }
  }

  #load(place: Place): Promise<Block> {
    const known = this.#blocks.get(place.seq);
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#loading.get(place.seq);
    if (running !== undefined) return running;
    const loading = this.#fetch(place).finally(() => this.#loading.delete(place.seq));
    this.#loading.set(place.seq, loading);
    return loading;
  }

  async #fetch(place: Place): Promise<Block> {
    const message = await readMessage(this.#p, place.seq, TRIES);
    if (message === undefined || readGroup(message.payload)?.start !== place.start)
      throw missing(place.start, place.end - place.start);
    const block = { place, bytes: message.payload.subarray(GROUP_HEADER_BYTES) };
    this.#keep(block);
    return block;
  }

  #keep(block: Block): void {
    this.#blocks.set(block.place.seq, block);
    this.#bytes += block.bytes.byteLength;
    for (const seq of this.#blocks.keys()) {
      if (this.#bytes <= CACHE_BYTES_MAX) return;
      this.#remove(seq);
    }
  }

  #remove(seq: number): void {
    this.#bytes -= this.#blocks.get(seq)?.bytes.byteLength ?? 0;
    this.#blocks.delete(seq);
  }
}

function view(block: Block, position: Position, length: number): Uint8Array | undefined {
  const at = position - block.place.start;
  if (at < 0 || at + length > block.bytes.byteLength) return undefined;
  return block.bytes.subarray(at, at + length);
}

function missing(position: Position, length: number): BrokerError {
  return new BrokerError('internal', `the journal holds no ${length} bytes at position ${position}`);
}
