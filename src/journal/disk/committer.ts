import { performance } from 'node:perf_hooks';
import type { Position } from '../../core/ports/journal.js';
import type { Batch } from './batch.js';
import { restampEntry } from './entry.js';
import type { Done } from './file-layer.js';
import { Preallocator } from './preallocator.js';
import type { Segment, SegmentStore } from './segments.js';

/** Batches being written at once. */
const IN_FLIGHT_MAX = 2;
/** First entries up to this size are stamped again when their batch is written. */
const RESTAMP_BYTES_MAX = 64 * 1024;
/** A batch that nobody waits for is synced with its own write up to this size, when it follows a forced one. */
const SIDE_BYTES_MAX = 64 * 1024;

/** Where batches come from and who is told what became of them. */
export interface BatchSource {
  /** The batch to write next, if its time has come; `busy` while others are being written. */
  peek(busy: boolean): Batch | undefined;
  /** The batch of `peek` is being written. */
  take(batch: Batch): void;
  committed(below: Position): void;
  /** Nothing is being written any more; `batches` were, in vain. With `fatal`, synced bytes apart, nothing can be trusted. */
  failed(error: Error, fatal: boolean, batches: readonly Batch[]): void;
}

export interface CommitterOptions {
  readonly segments: SegmentStore;
  readonly extentBytes: number;
  readonly epoch: number;
  /** Whether a forced batch is synced before it counts as committed. */
  readonly syncForced: boolean;
  /** System errors of a write (not of a sync) after which the file's earlier bytes are still good. */
  readonly harmless: ReadonlySet<string>;
}

/** Counters, read at scrape time. */
export interface CommitStats {
  groups: number;
  syncs: number;
  commitMsMax: number;
  commitMsTotal: number;
}

interface Waiter {
  readonly below: Position;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Writes batches and knows what is durable. Batches may be written side by side; they are reported in order, and one that
 * has to be durable never before everything in front of it is.
 */
export class Committer {
  readonly stats: CommitStats = { groups: 0, syncs: 0, commitMsMax: 0, commitMsTotal: 0 };
  readonly #o: CommitterOptions;
  readonly #source: BatchSource;
  readonly #preallocator: Preallocator;
  #inFlight: Batch[] = [];
  /** Everything below was written and reported; everything below `#synced` is durable. */
  #committed: Position;
  #synced: Position;
  /** Segments with bytes that were written and not synced, oldest first. */
  #dirty: Segment[] = [];
  /** One sync of all dirty segments runs, and nothing else. */
  #syncing = false;
  #syncDue = false;
  #forcedBefore = false;
  #failure: { readonly error: Error; readonly fatal: boolean } | undefined;
  #waiters: Waiter[] = [];

  /** `logEnd`: where the log ends that is there already, durably. */
  constructor(options: CommitterOptions, source: BatchSource, logEnd: Position) {
    this.#o = options;
    this.#source = source;
    this.#preallocator = new Preallocator({
      extentBytes: options.extentBytes,
      onAllocated: () => this.pump(),
      onSyncFailed: (error) => this.fail(error, true),
    });
    this.#committed = logEnd;
    this.#synced = logEnd;
  }

  get committed(): Position {
    return this.#committed;
  }

  get synced(): Position {
    return this.#synced;
  }

  /** A batch is being written. */
  get busy(): boolean {
    return this.#inFlight.length > 0;
  }

  /** Somebody waits until all of the log is durable. */
  get hurried(): boolean {
    return this.#waiters.length > 0;
  }

  /** Writes whatever is due. */
  pump(): void {
    for (;;) {
      if (this.#syncing) return;
      const busy = this.#inFlight.length;
      if (this.#failure !== undefined) {
        if (!this.#inFlight.some(isBeingWritten)) this.#giveUp(this.#failure.error, this.#failure.fatal);
        return;
      }
      if (busy >= IN_FLIGHT_MAX) return;
      if (this.#syncDue && busy > 0) return;
      const batch = this.#syncDue ? undefined : this.#source.peek(busy > 0);
      if (batch === undefined) {
        if (busy === 0 && (this.#syncDue || this.#waiters.length > 0)) this.#syncAll();
        return;
      }
      // A sync that covers more than the batch's own bytes has to be the only thing that happens.
      if (busy > 0 && this.#dirty.length > 0 && this.#mustSync(batch)) return;
      if (batch.segment.file === undefined || this.#preallocator.blocks(batch)) return;
      this.#source.take(batch);
      this.#launch(batch);
    }
  }

  /** Resolves when everything below `below` is durable. */
  flush(below: Position): Promise<void> {
    if (this.#synced >= below) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ below, resolve, reject });
      this.pump();
    });
  }

  /** Makes what was written durable as soon as nothing is being written. */
  syncSoon(): void {
    if (this.#dirty.length === 0) return;
    this.#syncDue = true;
    this.pump();
  }

  /** Something outside a batch failed: the batches behind it cannot be written. */
  fail(error: Error, fatal: boolean): void {
    if (this.#failure === undefined || fatal) this.#failure = { error, fatal };
    this.pump();
  }

  #mustSync(batch: Batch): boolean {
    return this.#waiters.length > 0 || (batch.forced && this.#o.syncForced);
  }

  /**
   * Under little load a forced batch (a send) and an unforced one (its delivery and acknowledgement) take turns. Left dirty, the unforced
   * one would cost the next sender a sync of its own behind the write. In a row of unforced ones nobody would be spared anything.
   */
  #sparesSync(batch: Batch): boolean {
    return (
      this.#o.syncForced &&
      this.#forcedBefore &&
      this.#inFlight.length === 0 &&
      this.#dirty.length === 0 &&
      batch.bytes <= SIDE_BYTES_MAX
    );
  }

  #launch(batch: Batch): void {
    const file = batch.segment.file;
    if (file === undefined) return;
    batch.durable = this.#mustSync(batch) || this.#sparesSync(batch);
    this.#forcedBefore = batch.forced;
    this.#inFlight.push(batch);
    batch.state = 'writing';
    batch.startedAt = performance.now();
    const { first } = batch;
    if (first !== undefined && first.byteLength <= RESTAMP_BYTES_MAX) {
      restampEntry(first, batch.start, this.#o.epoch, this.#synced);
    }
    const ownBytesOnly = batch.durable && this.#dirty.length === 0;
    if (!ownBytesOnly) this.#markDirty(batch.segment);
    this.#syncing = batch.durable && !ownBytesOnly;
    if (ownBytesOnly) this.#preallocator.follow(batch);
    file.write(batch.buffers(), batch.start - batch.segment.start, ownBytesOnly, (error) => {
      if (error !== null) this.#failed(batch, error, !this.#o.harmless.has(error.code ?? ''));
      else if (ownBytesOnly || !batch.durable) this.#done(batch);
      else
        this.#syncDirty((failed) =>
          failed === null ? this.#done(batch) : this.#failed(batch, failed, true),
        );
    });
  }

  #done(batch: Batch): void {
    if (batch.durable) this.#syncing = false;
    batch.state = 'written';
    const below = this.#retire();
    // The device works on while the callers of what it finished are served.
    this.pump();
    if (below === undefined) return;
    this.#resolveWaiters();
    this.#source.committed(below);
  }

  #failed(batch: Batch, error: Error, fatal: boolean): void {
    this.#syncing = false;
    batch.state = 'failed';
    this.fail(error, fatal);
  }

  /** Takes finished batches off the front; returns where they end. */
  #retire(): Position | undefined {
    let below: Position | undefined;
    for (let batch = this.#inFlight[0]; batch?.state === 'written'; batch = this.#inFlight[0]) {
      this.#inFlight.shift();
      batch.segment.end = batch.end;
      below = batch.end;
      if (batch.durable) {
        this.#synced = batch.end;
        this.stats.syncs += 1;
      }
      this.stats.groups += 1;
      const tookMs = performance.now() - batch.startedAt;
      this.stats.commitMsTotal += tookMs;
      if (tookMs > this.stats.commitMsMax) this.stats.commitMsMax = tookMs;
      if (batch.last) this.#o.segments.finish(batch.segment);
    }
    if (below !== undefined) this.#committed = below;
    return below;
  }

  #markDirty(segment: Segment): void {
    if (segment.dirty) return;
    segment.dirty = true;
    this.#dirty.push(segment);
  }

  /** Syncs every dirty segment, oldest first. */
  #syncDirty(done: Done): void {
    const segment = this.#dirty[0];
    if (segment === undefined) {
      done(null);
      return;
    }
    if (segment.file === undefined) {
      // Given up meanwhile: none of its entries was ever committed.
      this.#dirty.shift();
      this.#syncDirty(done);
      return;
    }
    segment.file.sync((error) => {
      if (error !== null) {
        done(error);
        return;
      }
      segment.dirty = false;
      this.#dirty.shift();
      if (segment.finished) this.#o.segments.finish(segment);
      this.#syncDirty(done);
    });
  }

  #syncAll(): void {
    const below = this.#committed;
    this.#syncDue = false;
    this.#syncing = true;
    this.#syncDirty((error) => {
      this.#syncing = false;
      if (error === null) {
        this.#synced = Math.max(this.#synced, below);
        this.stats.syncs += 1;
        this.#resolveWaiters();
        this.pump();
      } else {
        this.fail(error, true);
      }
    });
  }

  #resolveWaiters(): void {
    for (
      let first = this.#waiters[0];
      first !== undefined && first.below <= this.#synced;
      first = this.#waiters[0]
    ) {
      this.#waiters.shift();
      first.resolve();
    }
  }

  #giveUp(error: Error, fatal: boolean): void {
    this.#failure = undefined;
    const batches = this.#inFlight;
    this.#inFlight = [];
    const waiters = this.#waiters;
    this.#waiters = [];
    this.#source.failed(error, fatal, batches);
    for (const waiter of waiters) waiter.reject(error);
  }
}

function isBeingWritten(batch: Batch): boolean {
  return batch.state === 'writing';
}
