import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import { BlockCache, view } from './block-cache.js';
import type { Block } from './block-cache.js';
import type { RecentBytes } from './recent.js';
import type { Segment, SegmentStore } from './segments.js';

/** What one read brings into memory when a reader walks forward. Extents are whole numbers of these, or smaller than one. */
export const STREAM_BYTES = 1 << 20;
const STREAM_OVERLAP_BYTES = 64 << 10;
const STREAM_BLOCKS_MAX = 32;
/** Blocks fetched ahead of a reader that walks forward. */
const AHEAD = 3;
/** What one read brings into memory when readers jump: many queues are drained side by side, and were filled so. */
const CHUNK_BYTES = 64 << 10;
const CHUNK_OVERLAP_BYTES = 4 << 10;
const CHUNKS_MAX = 512;
/** So many neighbours missing in a row mean that somebody walks; fewer may be readers side by side. */
const RUN_MIN = 12;

/** Reads the store: what is in memory at once, what lies in order by large blocks ahead of time, everything else by small ones. */
export class Reader {
  readonly #segments: SegmentStore;
  readonly #recent: RecentBytes;
  readonly #extentBytes: number;
  readonly #streams: BlockCache;
  readonly #chunks: BlockCache;
  /** The block used last: readers walk forward. */
  #last: Block | undefined;
  /** The small block that was missing last, and how many in a row were each other's neighbours until then. */
  #lastChunk = -1;
  #run = 0;

  constructor(segments: SegmentStore, recent: RecentBytes, extentBytes: number) {
    this.#segments = segments;
    this.#recent = recent;
    this.#extentBytes = extentBytes;
    this.#streams = new BlockCache(segments, {
      blockBytes: Math.min(STREAM_BYTES, extentBytes),
      overlapBytes: STREAM_OVERLAP_BYTES,
      blocksMax: STREAM_BLOCKS_MAX,
    });
    this.#chunks = new BlockCache(segments, {
      blockBytes: Math.min(CHUNK_BYTES, extentBytes),
      overlapBytes: CHUNK_OVERLAP_BYTES,
      blocksMax: CHUNKS_MAX,
    });
  }

  peek(position: Position, length: number): Uint8Array | undefined {
    const last = this.#last === undefined ? undefined : view(this.#last, position, length);
    if (last !== undefined) return last;
    const recent = this.#recent.view(position, length);
    if (recent !== undefined) return recent;
    return this.#cached(position, length);
  }

  async read(position: Position, length: number): Promise<Uint8Array> {
    const found = this.peek(position, length);
    if (found !== undefined) return found;
    const segment = this.#segments.at(position);
    if (segment === undefined || position + length > segment.end) {
      throw new BrokerError('internal', `the store holds no ${length} bytes at position ${position}`);
    }
    const chunk = this.#chunks.numberOf(position);
    const stream = this.#streams.numberOf(position);
    if (chunk !== this.#lastChunk) {
      this.#run = chunk === this.#lastChunk + 1 ? this.#run + 1 : 0;
      this.#lastChunk = chunk;
    }
    const walks =
      this.#run >= RUN_MIN || this.#streams.has(stream) || (this.#last?.number ?? -2) + 1 === stream;
    const block = await (walks ? this.#streams.load(stream, segment) : this.#chunks.load(chunk, segment));
    const bytes = view(block, position, length);
    // Larger than a block, or a block of the segment being written that was read when it was shorter.
    if (bytes === undefined) return this.#readAlone(segment, position, length);
    if (walks) this.#use(block);
    return bytes;
  }

  /** Forgets what a segment held that is gone. */
  forget(segment: Segment): void {
    const end = segment.start + segment.extents * this.#extentBytes;
    this.#streams.forget(segment, end);
    this.#chunks.forget(segment, end);
    if (this.#last !== undefined && this.#last.start >= segment.start && this.#last.start < end)
      this.#last = undefined;
  }

  #cached(position: Position, length: number): Uint8Array | undefined {
    const block = this.#streams.find(position, length);
    if (block !== undefined) {
      this.#use(block);
      return view(block, position, length);
    }
    const chunk = this.#chunks.find(position, length);
    return chunk === undefined ? undefined : view(chunk, position, length);
  }

  #use(block: Block): void {
    if (block === this.#last) return;
    this.#last = block;
    for (let next = block.number + 1; next <= block.number + AHEAD; next++) this.#streams.prefetch(next);
  }

  async #readAlone(segment: Segment, position: Position, length: number): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafeSlow(length);
    await this.#segments.read(segment, bytes, position - segment.start);
    return bytes;
  }
}
