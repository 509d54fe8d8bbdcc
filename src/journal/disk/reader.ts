import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import type { RecentBytes } from './recent.js';
import type { Segment, SegmentStore } from './segments.js';

/** Bytes of a block: what one read brings into memory. Extents are whole numbers of blocks, or smaller than one. */
export const BLOCK_BYTES = 1 << 20;
/** A block also holds the first bytes of the next one, so that few messages lie on a border. */
const OVERLAP_BYTES = 64 << 10;
/** Blocks kept in memory. */
const BLOCKS_MAX = 32;
/** Blocks fetched ahead of a reader that walks forward. */
const AHEAD = 3;

interface Block {
  readonly bytes: Buffer;
  readonly start: Position;
}

/** Reads the store: what is in memory at once, everything else block by block. */
export class Reader {
  readonly #segments: SegmentStore;
  readonly #recent: RecentBytes;
  readonly #extentBytes: number;
  readonly #blockBytes: number;
  /** By number, the one used longest ago first. */
  readonly #blocks = new Map<number, Block>();
  readonly #loading = new Map<number, Promise<Block>>();
  /** The block used last: readers walk forward. */
  #last: Block | undefined;
  #lastNumber = -1;

  constructor(segments: SegmentStore, recent: RecentBytes, extentBytes: number) {
    this.#segments = segments;
    this.#recent = recent;
    this.#extentBytes = extentBytes;
    this.#blockBytes = Math.min(BLOCK_BYTES, extentBytes);
  }

  peek(position: Position, length: number): Uint8Array | undefined {
    const number = Math.floor(position / this.#blockBytes);
    if (number === this.#lastNumber && this.#last !== undefined) {
      const found = view(this.#last, position, length);
      if (found !== undefined) return found;
    }
    const recent = this.#recent.view(position, length);
    if (recent !== undefined) return recent;
    const block = this.#blocks.get(number);
    if (block === undefined) return undefined;
    const found = view(block, position, length);
    if (found !== undefined) this.#use(number, block);
    return found;
  }

  async read(position: Position, length: number): Promise<Uint8Array> {
    const recent = this.#recent.view(position, length);
    if (recent !== undefined) return recent;
    const segment = this.#segments.at(position);
    if (segment === undefined || position + length > segment.end) {
      throw new BrokerError('internal', `the store holds no ${length} bytes at position ${position}`);
    }
    const number = Math.floor(position / this.#blockBytes);
    if (position + length > (number + 1) * this.#blockBytes + OVERLAP_BYTES)
      return this.#readAlone(segment, position, length);
    let block = this.#blocks.get(number);
    // A block of the segment being written grows: what was read of it may be too short by now.
    if (block === undefined || position + length > block.start + block.bytes.length)
      block = await this.#load(number, segment);
    const found = view(block, position, length);
    if (found === undefined) return this.#readAlone(segment, position, length);
    this.#use(number, block);
    return found;
  }

  /** Forgets the blocks of a segment that is gone. */
  forget(segment: Segment): void {
    const first = Math.floor(segment.start / this.#blockBytes);
    const last = Math.floor((segment.start + segment.extents * this.#extentBytes - 1) / this.#blockBytes);
    for (let number = first; number <= last; number++) this.#blocks.delete(number);
    if (this.#lastNumber >= first && this.#lastNumber <= last) this.#last = undefined;
  }

  #use(number: number, block: Block): void {
    if (number === this.#lastNumber && block === this.#last) return;
    this.#blocks.delete(number);
    this.#blocks.set(number, block);
    const forward = number === this.#lastNumber + 1;
    this.#last = block;
    this.#lastNumber = number;
    if (!forward) return;
    for (let next = number + 1; next <= number + AHEAD; next++) this.#prefetch(next);
  }

  #prefetch(number: number): void {
    if (this.#blocks.has(number) || this.#loading.has(number)) return;
    const segment = this.#segments.at(number * this.#blockBytes);
    if (segment === undefined || segment.end < (number + 1) * this.#blockBytes) return;
    // Whoever needs the block asks again, and then sees the error.
    this.#load(number, segment).catch(() => undefined);
  }

  #load(number: number, segment: Segment): Promise<Block> {
    const running = this.#loading.get(number);
    if (running !== undefined) return running;
    const loading = this.#readBlock(number, segment).finally(() => this.#loading.delete(number));
    this.#loading.set(number, loading);
    return loading;
  }

  async #readBlock(number: number, segment: Segment): Promise<Block> {
    const start = Math.max(number * this.#blockBytes, segment.start);
    const end = Math.min((number + 1) * this.#blockBytes + OVERLAP_BYTES, segment.end);
    const bytes = Buffer.allocUnsafeSlow(end - start);
    await this.#segments.read(segment, bytes, start - segment.start);
    const block = { bytes, start };
    this.#blocks.set(number, block);
    if (this.#blocks.size > BLOCKS_MAX) {
      for (const oldest of this.#blocks.keys()) {
        this.#blocks.delete(oldest);
        break;
      }
    }
    return block;
  }

  async #readAlone(segment: Segment, position: Position, length: number): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafeSlow(length);
    await this.#segments.read(segment, bytes, position - segment.start);
    return bytes;
  }
}

function view(block: Block, position: Position, length: number): Uint8Array | undefined {
  const at = position - block.start;
  if (at < 0 || at + length > block.bytes.length) return undefined;
  return block.bytes.subarray(at, at + length);
}
