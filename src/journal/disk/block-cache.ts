import type { Position } from '../../core/ports/journal.js';
import type { Segment, SegmentStore } from './segments.js';
import { copyOf, isCopied } from './views.js';

/** Memory of blocks that were given up, kept for the next ones. */
const SPARES_MAX = 4;
const NO_BYTES = Buffer.alloc(0);

export interface BlockCacheOptions {
  readonly blockBytes: number;
  /** A block also holds this much of the next one, so that few messages lie across a border. */
  readonly overlapBytes: number;
  readonly blocksMax: number;
}

export interface Block {
  readonly number: number;
  /** Empty once the block was given up: its memory may hold another by then. */
  bytes: Buffer;
  readonly start: Position;
  /** What `bytes` are the beginning of. */
  readonly memory: Buffer;
  /** Somebody has a view of it, and nobody knows for how long. */
  shared: boolean;
}

/**
 * Pieces of the store in memory, the ones used longest ago given up first. Their memory is used again: blocks outlive the young
 * generation, and whoever drains a backlog reads hundreds of them a second.
 */
export class BlockCache {
  readonly #segments: SegmentStore;
  readonly #o: BlockCacheOptions;
  /** By number, the one used longest ago first. */
  readonly #blocks = new Map<number, Block>();
  readonly #loading = new Map<number, Promise<Block>>();
  readonly #spares: Buffer[] = [];

  constructor(segments: SegmentStore, options: BlockCacheOptions) {
    this.#segments = segments;
    this.#o = options;
  }

  numberOf(position: Position): number {
    return Math.floor(position / this.#o.blockBytes);
  }

  /** Whether a block is there or on its way. */
  has(number: number): boolean {
    return this.#blocks.has(number) || this.#loading.has(number);
  }

  /** The block that holds all of [position, position + length), as the one used last. */
  find(position: Position, length: number): Block | undefined {
    const block = this.#blocks.get(this.numberOf(position));
    if (block === undefined || !holds(block, position, length)) return undefined;
    this.#blocks.delete(block.number);
    this.#blocks.set(block.number, block);
    return block;
  }

  /** Reads a block from the segment it lies in. */
  load(number: number, segment: Segment): Promise<Block> {
    const running = this.#loading.get(number);
    if (running !== undefined) return running;
    const loading = this.#read(number, segment).finally(() => this.#loading.delete(number));
    this.#loading.set(number, loading);
    return loading;
  }

  /** Reads a block ahead of time, when all of it is written. */
  prefetch(number: number): void {
    if (this.has(number)) return;
    const segment = this.#segments.at(number * this.#o.blockBytes);
    if (segment === undefined || segment.end < (number + 1) * this.#o.blockBytes) return;
    // Whoever needs the block asks again, and then sees the error.
    this.load(number, segment).catch(() => undefined);
  }

  /** Forgets the blocks of a segment that is gone. */
  forget(segment: Segment, end: Position): void {
    const last = this.numberOf(end - 1);
    for (let number = this.numberOf(segment.start); number <= last; number++) {
      const block = this.#blocks.get(number);
      if (block !== undefined) this.#giveUp(block);
    }
  }

  async #read(number: number, segment: Segment): Promise<Block> {
    const { blockBytes, overlapBytes, blocksMax } = this.#o;
    const start = Math.max(number * blockBytes, segment.start);
    const end = Math.min((number + 1) * blockBytes + overlapBytes, segment.end);
    const memory = this.#spares.pop() ?? Buffer.allocUnsafeSlow(blockBytes + overlapBytes);
    const bytes = memory.subarray(0, Math.max(0, end - start));
    await this.#segments.read(segment, bytes, start - segment.start);
    const block = { number, bytes, start, memory, shared: false };
    const former = this.#blocks.get(number);
    if (former !== undefined) this.#giveUp(former);
    this.#blocks.set(number, block);
    if (this.#blocks.size > blocksMax) {
      for (const oldest of this.#blocks.values()) {
        this.#giveUp(oldest);
        break;
      }
    }
    return block;
  }

  #giveUp(block: Block): void {
    this.#blocks.delete(block.number);
    block.bytes = NO_BYTES;
    if (!block.shared && this.#spares.length < SPARES_MAX) this.#spares.push(block.memory);
  }
}

function holds(block: Block, position: Position, length: number): boolean {
  const at = position - block.start;
  return at >= 0 && at + length <= block.bytes.length;
}

/** The bytes at [position, position + length) when the block holds them all: the caller's for as long as it likes. */
export function view(block: Block, position: Position, length: number): Uint8Array | undefined {
  if (!holds(block, position, length)) return undefined;
  const at = position - block.start;
  if (isCopied(length)) return copyOf(block.bytes, at, length);
  block.shared = true;
  return block.bytes.subarray(at, at + length);
}
