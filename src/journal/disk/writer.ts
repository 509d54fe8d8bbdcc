import { performance } from 'node:perf_hooks';
import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type { JournalListener, Position } from '../../core/ports/journal.js';
import type { Arenas } from './arenas.js';
import { Batch } from './batch.js';
import { Committer } from './committer.js';
import type { BatchSource } from './committer.js';
import { BEGIN_BYTES, beginEntry, END, END_BYTES, stampEntry, stampKind } from './entry.js';
import type { RecentBytes } from './recent.js';
import type { Segment, SegmentStore } from './segments.js';

/** A batch of this size goes out before the turn ends, beside the one that is being written. */
const BATCH_BYTES_MAX = 512 * 1024;
/** Runs of a batch, below what the system takes in one call. */
const BATCH_RUNS_MAX = 1000;
/** An unforced entry waits this long for a forced one to ride with. */
const UNFORCED_DELAY_MS = 2;
/**
 * How long a commit waits for callers that are about to come back: those the commit before it has just answered. A commit costs
 * the processor more than a dozen entries do, so one for all of them beats two for a few each.
 */
const GATHER_MS = 0.5;
/** So many entries are worth a commit of their own: it goes out while the callers of the one before are being served. */
const WORTH_ENTRIES = 64;
/**
 * Entries that are worth a commit of their own while as many more are encoded. Fewer are not: where one processor serves and writes, each
 * commit costs it more than the disk would wait.
 */
const HALF_ENTRIES = 128;
/** After a write failed for want of space, how long nothing is tried. */
const RETRY_DELAY_MS = 100;
/** Errors of a write that say nothing against the bytes written before: no space, too many open files. */
const HARMLESS: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EMFILE', 'ENFILE']);

export interface WriterOptions {
  readonly segments: SegmentStore;
  readonly recent: RecentBytes;
  readonly arenas: Arenas;
  readonly extentBytes: number;
  readonly epoch: number;
  /** First extent that was never used. */
  readonly nextExtent: number;
  /** Where the log ends that is there already; all of it durable. */
  readonly logEnd: Position;
  readonly sync: 'always' | 'interval';
  readonly syncIntervalMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Told when a write failed. */
  readonly onFailed: () => void;
}

/**
 * The one writer of a store: gives entries their positions, gathers them into batches and segments, and takes back what
 * could not be written. Positions of lost entries are never used again: writing goes on in a fresh extent, whose first
 * entry says where the log in front of it ends.
 */
export class Writer implements BatchSource {
  entries = 0;
  bytes = 0;
  readonly #o: WriterOptions;
  readonly #committer: Committer;
  #listener: JournalListener | undefined;
  #state: 'idle' | 'running' | 'failed' | 'closing' | 'closed' = 'idle';

  /** Where the next entry begins, unless it would pass `#limit`. */
  #next: Position;
  #limit: Position = 0;
  #nextExtent: number;
  /** Behind this, the file of the next segment is made ahead of time. */
  #prepareAt: Position = Number.POSITIVE_INFINITY;
  /** End of the last entry that was taken and not lost. */
  #logEnd: Position;

  #segment: Segment | undefined;
  #open: Batch | undefined;
  #newest: Batch | undefined;
  #full: Batch[] = [];
  #pendingBytes = 0;

  #turnEnds = false;
  /** Entries of the newest batch that began to be written. */
  #takenEntries = 0;
  /** Entries that may be expected soon: those of the commit that ended last, and those that waited for its end. */
  #expected = 0;
  #committedAt = -Infinity;
  #due = false;
  #unforcedDue = false;
  #timer: Timer | undefined;
  #syncTimer: Timer | undefined;

  /** Why nothing is written at the moment. */
  #stall: BrokerError | undefined;
  #refusal = new BrokerError('unavailable', 'the store cannot be written to');
  /** The first entry that was refused and not yet reported as lost. */
  #refusedFrom: Position | undefined;

  constructor(options: WriterOptions) {
    this.#o = options;
    this.#nextExtent = options.nextExtent;
    this.#next = options.nextExtent * options.extentBytes;
    this.#logEnd = options.logEnd;
    const { segments, extentBytes, epoch, sync } = options;
    this.#committer = new Committer(
      { segments, extentBytes, epoch, syncForced: sync === 'always', harmless: HARMLESS },
      this,
      options.logEnd,
    );
  }

  /** End of the log: what was taken so far lies below, what comes next at or above. */
  get position(): Position {
    return this.#logEnd;
  }

  get synced(): Position {
    return this.#committer.synced;
  }

  get commits(): Committer['stats'] {
    return this.#committer.stats;
  }

  /** Bytes taken and not yet committed. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Nothing is written any more until the store is opened again. */
  get broken(): boolean {
    return this.#state === 'failed';
  }

  start(listener: JournalListener): void {
    if (this.#state !== 'idle') return;
    this.#listener = listener;
    this.#state = 'running';
    if (this.#o.sync === 'interval') this.#armSync();
  }

  append(entry: Uint8Array, forced: boolean): Position {
    if (this.#state !== 'running' && this.#state !== 'failed') {
      throw new BrokerError('unavailable', 'the journal is not open for writing');
    }
    // An entry behind one that was refused and not yet reported would be reported with it.
    if (this.#stall !== undefined || this.#refusedFrom !== undefined) return this.#refuse(entry);
    const length = entry.byteLength;
    if (this.#next + length > this.#limit) this.#roll(length);
    const position = this.#next;
    stampEntry(entry, position, this.#o.epoch, this.#committer.synced);
    this.#add(entry, forced);
    return position + ENTRY_HEADER_BYTES;
  }

  /** Resolves when everything appended before is durable. */
  async flush(): Promise<void> {
    if (this.#stall !== undefined) throw this.#stall;
    if (this.#state === 'idle') return;
    if (this.#state === 'closed') throw new BrokerError('unavailable', 'the journal is closed');
    this.#due = this.#open !== undefined;
    try {
      await this.#committer.flush(this.#logEnd);
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  /** Commits what is queued and marks the end as clean. */
  async close(): Promise<void> {
    if (this.#state === 'running' && this.#stall === undefined) {
      this.#state = 'closing';
      try {
        await this.flush();
        // Behind everything and known to be, so that the next opening has nothing to doubt.
        if (this.#segment !== undefined) {
          this.#appendEnd();
          await this.flush();
        }
      } catch (error) {
        this.#o.log.error('the last entries could not be written', { error: String(error) });
      }
    }
    this.#reportRefused();
    this.#state = 'closed';
    this.#timer?.cancel();
    this.#syncTimer?.cancel();
    this.#listener = undefined;
  }

  peek(busy: boolean): Batch | undefined {
    const full = this.#full[0];
    if (full !== undefined) return full;
    const open = this.#open;
    if (open === undefined || busy) return undefined;
    const urgent = open.forced || this.#committer.hurried;
    const many = open.entries >= Math.max(WORTH_ENTRIES, this.#takenEntries);
    return this.#unforcedDue || (urgent && (this.#due || many)) ? open : undefined;
  }

  take(batch: Batch): void {
    this.#takenEntries = batch.entries;
    if (batch === this.#open) this.#open = undefined;
    else this.#full.shift();
    if (this.#open === undefined) {
      this.#due = false;
      this.#unforcedDue = false;
    }
  }

  committed(below: Position): void {
    this.#pendingBytes = this.#full.reduce((sum, batch) => sum + batch.bytes, this.#open?.bytes ?? 0);
    this.#o.recent.trim();
    this.#expected = this.#takenEntries + (this.#open?.entries ?? 0);
    this.#committedAt = performance.now();
    this.#listener?.committed(below);
    if (this.#open?.forced === true && !this.#due && !this.#turnEnds) this.#endTurn();
  }

  failed(error: Error, fatal: boolean, batches: readonly Batch[]): void {
    const lost = [...batches, ...this.#full];
    if (this.#open !== undefined) lost.push(this.#open);
    const from = lost[0]?.start;
    const segments = new Set(lost.map((batch) => batch.segment));
    if (this.#segment !== undefined) segments.add(this.#segment);
    for (const segment of segments) {
      if (segment.end === segment.start) this.#o.segments.free(segment);
      else this.#o.segments.finish(segment);
    }
    this.#open = undefined;
    this.#newest = undefined;
    this.#full = [];
    this.#pendingBytes = 0;
    this.#segment = undefined;
    this.#limit = 0;
    this.#logEnd = this.#committer.committed;
    if (from !== undefined) this.#o.recent.drop(from);

    const stall = asUnavailable(error);
    this.#stall = stall;
    this.#refusal = stall;
    this.#o.onFailed();
    if (fatal) {
      this.#state = 'failed';
      this.#o.log.error('the store failed; nothing more is written until it is opened again', {
        error: String(error),
      });
    } else {
      this.#o.log.warn('the store cannot be written to, trying again', {
        error: String(error),
        afterMs: RETRY_DELAY_MS,
      });
      this.#o.clock.after(RETRY_DELAY_MS, () => this.#endStall());
    }
    if (from !== undefined) this.#listener?.lost(from, stall);
  }

  #add(entry: Uint8Array, forced: boolean): void {
    let batch = this.#open;
    if (batch === undefined) {
      batch = new Batch(this.#segment as Segment, this.#next, this.#o.arenas);
      this.#begin(batch);
    }
    batch.add(entry);
    this.#next = batch.end;
    this.#logEnd = batch.end;
    this.#pendingBytes += entry.byteLength;
    this.entries += 1;
    this.bytes += entry.byteLength;
    if (forced) batch.forced = true;
    if (this.#next > this.#prepareAt) {
      this.#prepareAt = Number.POSITIVE_INFINITY;
      this.#o.segments.prepare(this.#nextExtent);
    }
    if (batch.bytes >= BATCH_BYTES_MAX || batch.runs >= BATCH_RUNS_MAX) {
      this.#closeBatch();
      this.#committer.pump();
    } else if (forced) {
      if (!this.#committer.busy && batch.entries >= Math.max(HALF_ENTRIES, this.#expected / 2))
        this.#sendHalf();
      else if (!this.#due && !this.#turnEnds) this.#endTurn();
    } else if (this.#timer === undefined && !this.#unforcedDue) {
      this.#armUnforced();
    }
  }

  /**
   * Half of those who are expected are here and the disk has nothing to do: it writes theirs while the other half is encoded, and the
   * other way round from then on. One batch of all would have the disk and the processor wait for each other.
   */
  #sendHalf(): void {
    this.#due = true;
    this.#committer.pump();
  }

  /** Begins the next segment, for an entry of `length` bytes. */
  #roll(length: number): void {
    const { extentBytes, segments, epoch, arenas } = this.#o;
    this.#endSegment();
    const extents = Math.max(1, Math.ceil((BEGIN_BYTES + length) / extentBytes));
    const segment = segments.create(this.#nextExtent, extents, (error) => {
      // Whatever goes wrong while a file is made, the bytes of the others are still good.
      if (error === null) this.#committer.pump();
      else this.#committer.fail(error, false);
    });
    this.#nextExtent += extents;
    this.#segment = segment;
    const batch = new Batch(segment, segment.start, arenas);
    batch.add(
      beginEntry({ position: segment.start, epoch, syncedBelow: this.#committer.synced }, this.#logEnd),
    );
    this.#begin(batch);
    this.#next = batch.end;
    this.#prepareAt = segment.start + extentBytes / 2;
    // An entry larger than an extent has its segment to itself: the segment goes when the entry does.
    this.#limit = extents > 1 ? batch.end + length : segment.start + extentBytes;
  }

  #begin(batch: Batch): void {
    this.#open = batch;
    this.#newest = batch;
    this.#o.recent.add(batch);
  }

  /** Nothing more goes to the segment: it is finished with its newest batch. */
  #endSegment(): void {
    this.#closeBatch();
    const newest = this.#newest;
    if (newest === undefined) return;
    newest.last = true;
    if (newest.state === 'written') this.#o.segments.finish(newest.segment);
  }

  #closeBatch(): void {
    if (this.#open === undefined) return;
    this.#full.push(this.#open);
    this.#open = undefined;
  }

  #appendEnd(): void {
    if (this.#next + END_BYTES > this.#limit) this.#roll(END_BYTES);
    const entry = new Uint8Array(END_BYTES);
    const { synced } = this.#committer;
    stampKind(entry, { position: this.#next, epoch: this.#o.epoch, syncedBelow: synced, kind: END });
    this.#add(entry, true);
  }

  /** Everything that this turn of the event loop appends goes out together, and what the next ones bring while it is worth it. */
  #endTurn(): void {
    this.#turnEnds = true;
    setImmediate(this.#turnEnded);
  }

  readonly #turnEnded = (): void => {
    this.#reportRefused();
    const pending = this.#open?.entries ?? 0;
    if (pending > 0 && pending < this.#expected && performance.now() - this.#committedAt < GATHER_MS) {
      setImmediate(this.#turnEnded);
      return;
    }
    this.#turnEnds = false;
    // While a batch is being written, its end looks again: until then more may come.
    if (this.#committer.busy && !this.#committer.hurried) return;
    // What was open may have gone out already, behind the batch that was being written.
    this.#due = this.#open !== undefined;
    this.#committer.pump();
  };

  #armUnforced(): void {
    this.#timer = this.#o.clock.after(UNFORCED_DELAY_MS, () => {
      this.#timer = undefined;
      this.#unforcedDue = this.#open !== undefined;
      this.#committer.pump();
    });
  }

  #armSync(): void {
    this.#syncTimer = this.#o.clock.after(this.#o.syncIntervalMs, () => {
      this.#committer.syncSoon();
      this.#armSync();
    });
  }

  /** Gives an entry that will not be written a position of its own all the same. */
  #refuse(entry: Uint8Array): Position {
    const { extentBytes, arenas } = this.#o;
    const length = entry.byteLength;
    // Never released: whoever hears that it is lost may want to read it once more.
    arenas.hold(entry.buffer);
    if (this.#next + length > this.#limit) {
      const extents = Math.max(1, Math.ceil(length / extentBytes));
      this.#next = this.#nextExtent * extentBytes;
      this.#nextExtent += extents;
      this.#limit = this.#nextExtent * extentBytes;
    }
    const position = this.#next;
    this.#next += length;
    this.#refusedFrom ??= position;
    if (!this.#turnEnds) this.#endTurn();
    return position + ENTRY_HEADER_BYTES;
  }

  #reportRefused(): void {
    const from = this.#refusedFrom;
    if (from === undefined) return;
    this.#refusedFrom = undefined;
    this.#listener?.lost(from, this.#refusal);
  }

  #endStall(): void {
    if (this.#state === 'failed') return;
    this.#reportRefused();
    this.#stall = undefined;
    // The next entry begins a fresh extent.
    this.#limit = 0;
  }
}

function asUnavailable(error: unknown): BrokerError {
  if (error instanceof BrokerError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return new BrokerError('unavailable', `the store cannot be written to (${code})`, { cause: error });
}
