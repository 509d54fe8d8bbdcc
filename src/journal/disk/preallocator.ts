import { deferred } from '../../base/deferred.js';
import type { Batch } from './batch.js';
import type { Segment } from './segments.js';

/** Shares of an extent. So much is written with zeros at once, … */
const FILL_SHARE = 1 / 64;
/** … when less than this lies ahead … */
const AHEAD_SHARE_MIN = 1 / 128;
/** … and this is left free for what is appended meanwhile: a batch that reaches into the zeros waits for them. */
const MARGIN_SHARE = 1 / 512;
/** Larger batches gain nothing: the device's bandwidth is what they wait for, and zeros would take some of it. */
const BATCH_BYTES_MAX = 64 * 1024;
/** What one batch counts for in the average. */
const BATCH_WEIGHT = 1 / 16;

export interface PreallocatorOptions {
  readonly extentBytes: number;
  /** Zeros have been written: batches may have waited for it. */
  readonly onAllocated: () => void;
  /** A sync failed: what was written before may not be on the device, whatever it says later. */
  readonly onSyncFailed: (error: Error) => void;
}

/**
 * Writes zeros ahead of small batches. A durable write to blocks that are there already costs the device and the processor half of one
 * that makes its file longer, which has to store where the new blocks are as well.
 */
export class Preallocator {
  readonly #o: PreallocatorOptions;
  readonly #zeros: Buffer;
  /** Of the latest batches, about. */
  #batchBytes = 0;

  constructor(options: PreallocatorOptions) {
    this.#o = options;
    this.#zeros = Buffer.alloc(Math.ceil(options.extentBytes * FILL_SHARE));
  }

  /** Whether the batch has to wait: zeros on their way to its place might come after it. */
  blocks(batch: Batch): boolean {
    const { segment } = batch;
    return segment.allocating !== undefined && batch.end - segment.start > segment.allocating.from;
  }

  /** `batch` is being written: makes room behind it when there is little left and batches are small. */
  follow(batch: Batch): void {
    const { segment } = batch;
    const end = batch.end - segment.start;
    this.#batchBytes += (batch.bytes - this.#batchBytes) * BATCH_WEIGHT;
    if (this.#batchBytes > BATCH_BYTES_MAX || segment.allocating !== undefined || segment.unallocatable)
      return;
    const { extentBytes } = this.#o;
    if (segment.allocatedBytes - end > extentBytes * AHEAD_SHARE_MIN) return;
    const from = Math.max(segment.allocatedBytes, end + Math.ceil(extentBytes * MARGIN_SHARE));
    const length = Math.min(this.#zeros.length, extentBytes - from);
    if (length > 0) this.#allocate(segment, from, length);
  }

  #allocate(segment: Segment, from: number, length: number): void {
    const { file } = segment;
    if (file === undefined) return;
    const over = deferred<undefined>();
    segment.allocating = { from, ended: over.promise };
    const ended = (): void => {
      segment.allocating = undefined;
      over.resolve(undefined);
      this.#o.onAllocated();
    };
    file.write([this.#zeros.subarray(0, length)], from, false, (error) => {
      if (error !== null) {
        // No place, most likely: the batches will say so themselves when they need it.
        segment.unallocatable = true;
        ended();
        return;
      }
      file.sync((failed) => {
        if (failed === null) segment.allocatedBytes = from + length;
        else this.#o.onSyncFailed(failed);
        ended();
      });
    });
  }
}
