import { join } from 'node:path';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import type { Done, FileLayer, StoreFile } from './file-layer.js';
import { parseSpareName, segmentName, spareName } from './layout.js';

/** Files of segments kept open for reading. */
const READERS_MAX = 128;

/** One file of the log: the extent it is named after and, when its one entry is larger, those that follow. */
export interface Segment {
  readonly extent: number;
  readonly epoch: number;
  readonly extents: number;
  readonly start: Position;
  /** End of what was written to it, or of what is valid in it. */
  end: Position;
  /** Holds bytes that were written and not synced. */
  dirty: boolean;
  /** Nothing more is written to it. */
  finished: boolean;
  /** The file's length beforehand: below it, writing makes nothing longer. */
  allocatedBytes: number;
  /** Zeros that are being written; nothing else may be written behind their beginning meanwhile. */
  allocating: { readonly from: number; readonly ended: Promise<unknown> } | undefined;
  unallocatable: boolean;
  /** Undefined until the file is ready, and again when nobody writes to it any more. */
  file: StoreFile | undefined;
  reader: Promise<StoreFile> | undefined;
  /** Reads that are under way, and who waits for them to end. */
  readers: number;
  whenUnread: (() => void) | undefined;
  readonly discarded: Set<number>;
}

/** A file to be written, and how long it is from its earlier use. */
interface NewFile {
  readonly file: StoreFile;
  readonly bytes: number;
}

export interface SegmentStoreOptions {
  readonly directory: string;
  readonly files: FileLayer;
  readonly extentBytes: number;
  readonly epoch: number;
  /** Freed files kept to be written over. */
  readonly sparesMax: number;
  readonly log: Log;
}

/** The segment files of a store: made, read, given up. Freed ones are written over later instead of deleted. */
export class SegmentStore {
  readonly #options: SegmentStoreOptions;
  /** By every extent a segment covers. */
  readonly #byExtent = new Map<number, Segment>();
  readonly #segments = new Set<Segment>();
  readonly #open = new Set<Segment>();
  #spares: string[] = [];
  #spareNumber = 0;
  #keepsSpares = true;
  /** The file of the next segment, made ahead of time. */
  #prepared: { readonly extent: number; readonly path: string; readonly file: Promise<NewFile> } | undefined;
  /** Renames and deletions run one after the other; nobody waits for them but `close`. */
  #housekeeping: Promise<void> = Promise.resolve();
  /** Called when a segment's bytes are no longer there. */
  onFreed: (segment: Segment) => void = () => undefined;

  constructor(options: SegmentStoreOptions) {
    this.#options = options;
  }

  get usedBytes(): number {
    let bytes = 0;
    for (const segment of this.#segments) bytes += segment.end - segment.start;
    return bytes;
  }

  /** The extents of all segments, rising. */
  extents(): number[] {
    return [...this.#byExtent.keys()].sort((a, b) => a - b);
  }

  at(position: Position): Segment | undefined {
    return this.#byExtent.get(Math.floor(position / this.#options.extentBytes));
  }

  path(segment: Segment): string {
    return join(this.#options.directory, segmentName(segment.extent, segment.epoch));
  }

  /** Takes in a segment that is there already. */
  adopt(extent: number, epoch: number, endOffset: number): Segment {
    const extents = Math.max(1, Math.ceil(endOffset / this.#options.extentBytes));
    const segment = this.#make(extent, epoch, extents);
    segment.end = segment.start + endOffset;
    return segment;
  }

  /** Leaves a segment out whose file is gone. */
  forget(segment: Segment): void {
    this.#segments.delete(segment);
    for (let i = 0; i < segment.extents; i++) this.#byExtent.delete(segment.extent + i);
  }

  /** Takes in the spare files of an earlier run, up to the limit; the others go. */
  adoptSpares(names: readonly string[]): void {
    for (const name of names) {
      const number = parseSpareName(name);
      if (number === undefined) continue;
      this.#spareNumber = Math.max(this.#spareNumber, number + 1);
      if (this.#spares.length < this.#options.sparesMax) this.#spares.push(name);
      else this.#later(() => this.#options.files.remove(join(this.#options.directory, name)));
    }
  }

  /** Makes the file of a segment before it is needed. */
  prepare(extent: number): void {
    if (this.#prepared?.extent === extent) return;
    this.#dropPrepared();
    const path = join(this.#options.directory, segmentName(extent, this.#options.epoch));
    const file = this.#createFile(path);
    this.#prepared = { extent, path, file };
    // Whoever takes it sees the error.
    file.catch(() => undefined);
  }

  #dropPrepared(): void {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    if (prepared === undefined) return;
    this.#later(async () => {
      await (await prepared.file).file.close();
      await this.#options.files.remove(prepared.path);
    });
  }

  #takeFile(extent: number, path: string): Promise<NewFile> {
    const prepared = this.#prepared;
    if (prepared?.extent !== extent) return this.#createFile(path);
    this.#prepared = undefined;
    // What failed ahead of time may succeed now.
    return prepared.file.catch(() => this.#createFile(path));
  }

  /** A new segment; `ready` is called when its file is there, by name and durably. */
  create(extent: number, extents: number, ready: Done): Segment {
    const segment = this.#make(extent, this.#options.epoch, extents);
    this.#takeFile(extent, this.path(segment)).then(
      ({ file, bytes }) => {
        segment.allocatedBytes = bytes;
        if (this.#segments.has(segment)) segment.file = file;
        else this.#later(() => file.close());
        ready(null);
      },
      (error: unknown) => ready(error as NodeJS.ErrnoException),
    );
    return segment;
  }

  /** Reads from a segment; rejects with `internal` when it is shorter than it should be. */
  async read(segment: Segment, target: Uint8Array, offset: number): Promise<void> {
    segment.readers += 1;
    try {
      const file = await this.#readerOf(segment);
      const count = await file.read(target, offset);
      if (count === target.byteLength) return;
    } catch (error) {
      throw new BrokerError('internal', `cannot read ${this.path(segment)} at offset ${offset}`, {
        cause: error,
      });
    } finally {
      segment.readers -= 1;
      if (segment.readers === 0) segment.whenUnread?.();
    }
    throw new BrokerError(
      'internal',
      `${this.path(segment)} is damaged: it ends before offset ${offset + target.byteLength}`,
    );
  }

  /** Nothing more is written to the segment; its file is closed once it is synced. */
  finish(segment: Segment): void {
    segment.finished = true;
    if (!segment.dirty) this.#closeWriter(segment);
  }

  #closeWriter(segment: Segment): void {
    const { file, allocating } = segment;
    segment.file = undefined;
    if (file === undefined) return;
    this.#later(async () => {
      await allocating?.ended;
      await file.close();
    });
  }

  /** Gives up a segment; its file becomes a spare or goes. */
  free(segment: Segment): void {
    if (!this.#segments.has(segment)) return;
    this.forget(segment);
    this.#open.delete(segment);
    this.onFreed(segment);
    this.#closeWriter(segment);
    const closeReader = closingReader(segment);
    this.#later(async () => {
      await closeReader();
      const path = this.path(segment);
      const isWanted = this.#keepsSpares && this.#spares.length < this.#options.sparesMax;
      if (segment.extents === 1 && isWanted) await this.#toSpare(path);
      else await this.#options.files.remove(path);
    });
  }

  /** Whether freed files are kept. While the disk is nearly full they go at once, and those that are there go with them. */
  keepSpares(keeps: boolean): void {
    this.#keepsSpares = keeps;
    if (keeps) return;
    const spares = this.#spares;
    this.#spares = [];
    for (const name of spares)
      this.#later(() => this.#options.files.remove(join(this.#options.directory, name)));
  }

  get spares(): number {
    return this.#spares.length;
  }

  async close(): Promise<void> {
    this.#dropPrepared();
    for (const segment of this.#segments) {
      this.#closeWriter(segment);
      this.#later(closingReader(segment));
    }
    await this.#housekeeping;
  }

  #make(extent: number, epoch: number, extents: number): Segment {
    const start = extent * this.#options.extentBytes;
    const segment: Segment = {
      extent,
      epoch,
      extents,
      start,
      end: start,
      dirty: false,
      finished: false,
      allocatedBytes: 0,
      allocating: undefined,
      unallocatable: extents > 1,
      file: undefined,
      reader: undefined,
      readers: 0,
      whenUnread: undefined,
      discarded: new Set(),
    };
    this.#segments.add(segment);
    for (let i = 0; i < extents; i++) this.#byExtent.set(extent + i, segment);
    return segment;
  }

  async #createFile(path: string): Promise<NewFile> {
    const { files, directory } = this.#options;
    const spare = this.#spares.pop();
    if (spare !== undefined) await files.rename(join(directory, spare), path);
    const file = await files.open(path, 'create');
    try {
      await files.syncDirectory(directory);
      return { file, bytes: spare === undefined ? 0 : await file.size() };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #toSpare(path: string): Promise<void> {
    const name = spareName(this.#spareNumber++);
    await this.#options.files.rename(path, join(this.#options.directory, name));
    this.#spares.push(name);
    // The disk may have become full meanwhile.
    if (!this.#keepsSpares) this.keepSpares(false);
  }

  #readerOf(segment: Segment): Promise<StoreFile> {
    this.#open.delete(segment);
    this.#open.add(segment);
    segment.reader ??= this.#options.files.open(this.path(segment), 'read').catch((error: unknown) => {
      segment.reader = undefined;
      throw error;
    });
    if (this.#open.size > READERS_MAX) {
      for (const oldest of this.#open) {
        if (oldest.readers > 0) continue;
        this.#open.delete(oldest);
        this.#later(closingReader(oldest));
        break;
      }
    }
    return segment.reader;
  }

  #later(task: () => Promise<void>): void {
    this.#housekeeping = this.#housekeeping.then(task).catch((error: unknown) => {
      this.#options.log.warn('a store file could not be tidied up', { error: String(error) });
    });
  }
}

/** Takes the reading file away from a segment at once; the result closes it when the last read under way has ended. */
function closingReader(segment: Segment): () => Promise<void> {
  const reader = segment.reader;
  segment.reader = undefined;
  const unread =
    segment.readers === 0
      ? Promise.resolve()
      : new Promise<void>((resolve) => {
          segment.whenUnread = resolve;
        });
  return async () => {
    await unread;
    if (reader !== undefined) await (await reader).close();
  };
}
