import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type {
  Checkpoint,
  Journal,
  JournalListener,
  JournalSpace,
  JournalStats,
  Position,
} from '../../core/ports/journal.js';
import { checkEntry } from '../../core/ports/journal.js';
import { Arenas } from './arenas.js';
import { Checkpoints } from './checkpoints.js';
import type { DirectoryLock, FileLayer } from './file-layer.js';
import { Reader } from './reader.js';
import { RecentBytes } from './recent.js';
import { damageError, scanLog, settleLog } from './recovery.js';
import type { FoundSegment } from './scan.js';
import { SegmentStore } from './segments.js';
import type { Segment } from './segments.js';
import { SpaceWatch } from './space.js';
import { Writer } from './writer.js';

/** Bytes handed in and not yet written beyond which senders are refused. */
const PENDING_BYTES_MAX = 256 << 20;
/** Freed segment files kept to be written over. */
const SPARES_MAX = 8;

export interface DiskJournalParts {
  readonly directory: string;
  readonly files: FileLayer;
  readonly lock: DirectoryLock;
  readonly extentBytes: number;
  readonly epoch: number;
  readonly found: readonly FoundSegment[];
  readonly sync: 'always' | 'interval';
  readonly syncIntervalMs: number;
  readonly minFreeBytes: number;
  readonly freshBytesMax: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** The journal in a directory; docs/storage.md describes its files, docs/adr/ why they are as they are. */
export class DiskJournal implements Journal {
  readonly extentBytes: number;
  readonly #o: DiskJournalParts;
  readonly #segments: SegmentStore;
  readonly #recent: RecentBytes;
  readonly #arenas = new Arenas();
  readonly #reader: Reader;
  readonly #checkpoints: Checkpoints;
  readonly #space: SpaceWatch;
  /** Undefined until the log was read. */
  #writer: Writer | undefined;
  #logEnd: Position = 0;
  #checkpointing: Promise<void> = Promise.resolve();
  /** Given up, but perhaps needed after a crash: until what was appended before is durable, and the oldest checkpoint is newer. */
  #discarded: { readonly segment: Segment; readonly after: Position }[] = [];
  #closing: Promise<void> | undefined;

  constructor(parts: DiskJournalParts) {
    this.#o = parts;
    const { directory, files, extentBytes, epoch, log, clock, minFreeBytes } = parts;
    this.extentBytes = extentBytes;
    this.#segments = new SegmentStore({ directory, files, extentBytes, epoch, sparesMax: SPARES_MAX, log });
    this.#recent = new RecentBytes(parts.freshBytesMax);
    this.#reader = new Reader(this.#segments, this.#recent, extentBytes);
    this.#segments.onFreed = (segment) => this.#reader.forget(segment);
    this.#checkpoints = new Checkpoints(files, directory, log);
    this.#space = new SpaceWatch({
      files,
      directory,
      minFreeBytes,
      clock,
      log,
      onChange: (low) => this.#segments.keepSpares(!low),
    });
  }

  get position(): Position {
    return this.#writer?.position ?? this.#logEnd;
  }

  checkpoint(): Promise<Checkpoint | undefined> {
    return this.#checkpoints.load();
  }

  async replay(from: Position, visit: (position: Position, payload: Uint8Array) => void): Promise<void> {
    const { files, directory, found, log, clock, extentBytes, epoch } = this.#o;
    const began = clock.now();
    const scan = await scanLog(files, found, from, visit);
    if (scan.damage !== undefined) throw damageError(directory, scan.damage);
    const settles = clock.now();
    await settleLog(files, directory, scan, log);
    log.debug('the log was read', {
      entries: scan.entries,
      readMs: settles - began,
      rewrittenBytes: scan.logEnd - scan.syncedBelow,
      rewriteMs: clock.now() - settles,
    });
    this.#segments.adoptSpares(await files.list(directory));
    let nextExtent = Math.ceil(scan.logEnd / extentBytes);
    for (const segment of found) {
      const adopted = this.#segments.adopt(segment.extent, segment.epoch, segment.size);
      nextExtent = Math.max(nextExtent, adopted.extent + adopted.extents);
      if (scan.empty.includes(segment)) this.#segments.forget(adopted);
      else if (scan.logEnd > adopted.start && scan.logEnd < adopted.end) adopted.end = scan.logEnd;
    }
    this.#logEnd = scan.logEnd;
    this.#writer = new Writer({
      segments: this.#segments,
      recent: this.#recent,
      arenas: this.#arenas,
      extentBytes,
      epoch,
      nextExtent,
      logEnd: scan.logEnd,
      sync: this.#o.sync,
      syncIntervalMs: this.#o.syncIntervalMs,
      clock: this.#o.clock,
      log,
      onFailed: () => this.#space.full(),
    });
    await this.#space.start();
  }

  start(listener: JournalListener): void {
    if (this.#writer === undefined)
      throw new BrokerError('internal', 'the journal must be replayed before it starts');
    this.#writer.start({
      committed: (below) => {
        listener.committed(below);
        if (this.#discarded.length > 0) this.#freeDiscarded();
      },
      lost: (from, error) => listener.lost(from, error),
    });
  }

  arena(bytes: number, former: Buffer): Buffer {
    return this.#arenas.take(bytes, former);
  }

  append(entry: Uint8Array, forced: boolean): Position {
    if (this.#writer === undefined)
      throw new BrokerError('unavailable', 'the journal is not open for writing');
    checkEntry(entry);
    return this.#writer.append(entry, forced);
  }

  peek(position: Position, length: number): Uint8Array | undefined {
    return this.#reader.peek(position, length);
  }

  read(position: Position, length: number): Promise<Uint8Array> {
    return this.#reader.read(position, length);
  }

  async flush(): Promise<void> {
    await this.#writer?.flush();
  }

  writeCheckpoint(position: Position, parts: readonly Uint8Array[]): Promise<void> {
    const write = this.#checkpointing.then(async () => {
      await this.flush();
      await this.#checkpoints.write(position, parts, this.#space.low ? 1 : 2);
      this.#freeDiscarded();
    });
    this.#checkpointing = write.catch(() => undefined);
    return write;
  }

  extents(): readonly number[] {
    return this.#segments.extents();
  }

  discard(extents: readonly number[]): void {
    const after = this.position;
    for (const extent of extents) {
      const segment = this.#segments.at(extent * this.extentBytes);
      if (segment === undefined || segment.discarded.has(extent)) continue;
      segment.discarded.add(extent);
      if (segment.discarded.size === segment.extents) this.#discarded.push({ segment, after });
    }
    this.#freeDiscarded();
  }

  space(): JournalSpace {
    return {
      freeBytes: this.#space.freeBytes,
      usedBytes: this.#segments.usedBytes + this.#checkpoints.usedBytes,
    };
  }

  get broken(): boolean {
    return this.#writer?.broken === true;
  }

  get shortage(): string | undefined {
    if (this.broken) return 'the disk fails';
    if (this.#space.low) return 'the disk is nearly full';
    return (this.#writer?.pendingBytes ?? 0) > PENDING_BYTES_MAX ? 'the disk does not keep up' : undefined;
  }

  stats(): JournalStats {
    const commits = this.#writer?.commits ?? { groups: 0, syncs: 0, commitMsMax: 0, commitMsTotal: 0 };
    return { ...commits, entries: this.#writer?.entries ?? 0, bytes: this.#writer?.bytes ?? 0 };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#checkpointing;
    await this.#writer?.close();
    await this.#space.stop();
    await this.#segments.close();
    await this.#o.lock.release();
  }

  #freeDiscarded(): void {
    const synced = this.#writer?.synced ?? 0;
    const oldest = this.#checkpoints.oldest;
    this.#discarded = this.#discarded.filter(({ segment, after }) => {
      const end = (segment.extent + segment.extents) * this.extentBytes;
      if (after > synced || end > oldest) return true;
      this.#segments.free(segment);
      return false;
    });
  }
}
