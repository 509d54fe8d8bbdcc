import type { Clock, Timer } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import { checkEntry, ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type {
  Checkpoint,
  Journal,
  JournalListener,
  JournalSpace,
  JournalStats,
  Position,
} from '../../core/ports/journal.js';
import { emptyImage, EntryTable } from './entry-table.js';
import type { MemoryEntry, MemoryImage } from './entry-table.js';

const DEFAULT_EXTENT_BYTES = 1 << 20;

/** What a test may make go wrong, and how commits are timed. */
export interface MemoryJournalOptions {
  /** What an earlier journal left behind, from `crash` or `image`. */
  readonly image?: MemoryImage;
  /** Bytes an extent spans; small by default so that tests cross extents. Ignored when `image` is given. */
  readonly extentBytes?: number;
  /** With `commitDelayMs`: commits take that long on this clock. Without: a commit runs as a microtask. */
  readonly clock?: Clock;
  readonly commitDelayMs?: number;
  /** `peek` finds only the newest bytes, this many of them. All by default. */
  readonly peekBytesMax?: number;
  readonly faults?: MemoryFaults;
}

/** Set at any time, also while the journal runs. */
export interface MemoryFaults {
  /** While true nothing commits; `commit()` still does, once. */
  holdCommits?: boolean;
  /** The next group fails with this error instead of committing. Used once. */
  failNextGroup?: BrokerError | undefined;
  /** The next checkpoint rejects with this error and changes nothing. Used once. */
  failNextCheckpoint?: BrokerError | undefined;
  /** The next read rejects with this error. Used once. */
  failNextRead?: BrokerError | undefined;
  /** `shortage` is what the one on disk says when that is nearly full. */
  lowSpace?: boolean;
  /** Nothing more is written until it is opened again. */
  broken?: boolean;
}

/**
 * The journal in memory: same promises as the one on disk, but for the machine's own end. Commits run as microtasks, on
 * the clock or by hand, so that a test decides what was durable when it calls `crash`.
 */
export class MemoryJournal implements Journal {
  readonly extentBytes: number;
  readonly faults: MemoryFaults;
  readonly #clock: Clock | undefined;
  readonly #commitDelayMs: number;
  readonly #peekBytesMax: number;
  readonly #entries: EntryTable;
  #checkpoints: readonly Checkpoint[];
  #pending: MemoryEntry[] = [];
  #next: Position;
  /** Everything below is durable; between it and the committed end lie unforced entries that a crash may take. */
  #durable: Position;
  #listener: JournalListener | undefined;
  #state: 'opened' | 'running' | 'closed' | 'crashed' = 'opened';
  #scheduled = false;
  #timer: Timer | undefined;
  #waiters: {
    readonly below: Position;
    readonly resolve: () => void;
    readonly reject: (e: BrokerError) => void;
  }[] = [];
  #discards: { readonly extent: number; readonly after: Position }[] = [];
  #stats = { entries: 0, bytes: 0, groups: 0, syncs: 0, commitMsMax: 0, commitMsTotal: 0 };

  constructor(options: MemoryJournalOptions = {}) {
    const image = options.image ?? emptyImage(options.extentBytes ?? DEFAULT_EXTENT_BYTES);
    this.extentBytes = image.extentBytes;
    this.faults = options.faults ?? {};
    this.#clock = options.clock;
    this.#commitDelayMs = options.commitDelayMs ?? 0;
    this.#peekBytesMax = options.peekBytesMax ?? Number.POSITIVE_INFINITY;
    this.#entries = new EntryTable(image);
    this.#checkpoints = image.checkpoints;
    this.#next = image.nextExtent * image.extentBytes;
    this.#durable = this.#next;
  }

  get position(): Position {
    return this.#next;
  }

  async checkpoint(): Promise<Checkpoint | undefined> {
    await Promise.resolve();
    return this.#checkpoints.at(-1);
  }

  async replay(from: Position, visit: (position: Position, payload: Uint8Array) => void): Promise<void> {
    await Promise.resolve();
    for (const entry of this.#entries.from(from)) {
      visit(entry.position + ENTRY_HEADER_BYTES, entry.bytes.subarray(ENTRY_HEADER_BYTES));
    }
  }

  start(listener: JournalListener): void {
    if (this.#state !== 'opened') return;
    this.#listener = listener;
    this.#state = 'running';
  }

  append(bytes: Uint8Array, forced: boolean): Position {
    if (this.#state !== 'running')
      throw new BrokerError('unavailable', 'the journal is not open for writing');
    checkEntry(bytes);
    const used = this.#next % this.extentBytes;
    if (used > 0 && used + bytes.byteLength > this.extentBytes) this.#next += this.extentBytes - used;
    const position = this.#next;
    this.#pending.push({ position, bytes, forced });
    const oversized = bytes.byteLength > this.extentBytes;
    this.#next = position + bytes.byteLength;
    // Bytes behind an oversized entry share its last extent with nobody.
    if (oversized) this.#next = Math.ceil(this.#next / this.extentBytes) * this.extentBytes;
    this.#stats.entries += 1;
    this.#stats.bytes += bytes.byteLength;
    this.#schedule();
    return position + ENTRY_HEADER_BYTES;
  }

  peek(position: Position, length: number): Uint8Array | undefined {
    if (position < this.#next - this.#peekBytesMax) return undefined;
    return this.#entries.bytes(position, length) ?? bytesOf(this.#pending, position, length);
  }

  async read(position: Position, length: number): Promise<Uint8Array> {
    await Promise.resolve();
    const fault = this.faults.failNextRead;
    if (fault !== undefined) {
      this.faults.failNextRead = undefined;
      throw fault;
    }
    const found = this.#entries.bytes(position, length) ?? bytesOf(this.#pending, position, length);
    if (found === undefined) {
      throw new BrokerError('internal', `the journal has no ${length} bytes at position ${position}`);
    }
    return found;
  }

  flush(): Promise<void> {
    if (this.#pending.length === 0) {
      this.#markDurable();
      return Promise.resolve();
    }
    const below = this.#next;
    const waiter = new Promise<void>((resolve, reject) => this.#waiters.push({ below, resolve, reject }));
    this.#schedule();
    return waiter;
  }

  async writeCheckpoint(position: Position, parts: readonly Uint8Array[]): Promise<void> {
    // Copied now: the caller may reuse its buffers as soon as the call returned.
    const data = Buffer.concat(parts);
    await this.flush();
    const fault = this.faults.failNextCheckpoint;
    if (fault !== undefined) {
      this.faults.failNextCheckpoint = undefined;
      throw fault;
    }
    if (this.#state === 'crashed') throw new BrokerError('unavailable', 'the journal is gone');
    this.#checkpoints = [{ position, data }];
    this.#freeExtents();
  }

  extents(): readonly number[] {
    return this.#entries.extents();
  }

  discard(extents: readonly number[]): void {
    for (const extent of extents) this.#discards.push({ extent, after: this.#next });
    this.#freeExtents();
  }

  get broken(): boolean {
    return this.faults.broken === true;
  }

  get shortage(): string | undefined {
    return this.faults.lowSpace === true ? 'the disk is nearly full' : undefined;
  }

  space(): JournalSpace {
    return {
      freeBytes: Number.MAX_SAFE_INTEGER,
      usedBytes: this.#entries.usedBytes,
    };
  }

  stats(): JournalStats {
    return { ...this.#stats };
  }

  async close(): Promise<void> {
    if (this.#state === 'closed' || this.#state === 'crashed') return;
    this.commit();
    this.#state = 'closed';
    this.#timer?.cancel();
    this.#listener = undefined;
    await Promise.resolve();
  }

  /** Commits everything queued as one group, now. */
  commit(): void {
    if (this.#state !== 'running' || this.#pending.length === 0) return;
    const group = this.#pending;
    this.#pending = [];
    const fault = this.faults.failNextGroup;
    if (fault !== undefined) {
      this.faults.failNextGroup = undefined;
      this.#lose(group, fault);
      return;
    }
    this.#entries.add(group);
    this.#stats.groups += 1;
    const end = this.#next;
    if (group.some((entry) => entry.forced) || this.#waiters.length > 0) this.#markDurable();
    this.#listener?.committed(end);
    const due = this.#waiters;
    this.#waiters = [];
    for (const waiter of due) waiter.resolve();
  }

  /**
   * Ends this journal as a power cut would. Returns what a disk would then hold: everything durable and, chosen by `seed`,
   * some first ones of the entries behind it. Nothing of this journal is called or resolved afterwards.
   */
  crash(seed = 0): MemoryImage {
    this.#state = 'crashed';
    this.#listener = undefined;
    this.#timer?.cancel();
    const loose = [...this.#entries.from(this.#durable), ...this.#pending];
    const kept = loose.slice(0, seed === 0 ? 0 : Math.abs(seed) % (loose.length + 1));
    return this.#entries.image(this.#durable, kept, this.#checkpoints, this.#next);
  }

  /** What the journal holds, all of it: opens a second journal over the same content after `close`. */
  image(): MemoryImage {
    return this.#entries.image(this.#next, [], this.#checkpoints, this.#next);
  }

  #schedule(): void {
    if (this.#scheduled || this.faults.holdCommits === true) return;
    this.#scheduled = true;
    const run = (): void => {
      this.#scheduled = false;
      this.#timer = undefined;
      if (this.faults.holdCommits !== true) this.commit();
    };
    if (this.#clock === undefined) queueMicrotask(run);
    else this.#timer = this.#clock.after(this.#commitDelayMs, run);
  }

  #lose(group: readonly MemoryEntry[], error: BrokerError): void {
    const from = group[0]?.position ?? this.#next;
    // A lost group's extent is given up, as the one on disk is: no position is ever used twice.
    this.#next = (Math.floor((this.#next - 1) / this.extentBytes) + 1) * this.extentBytes;
    this.#listener?.lost(from, error);
    const due = this.#waiters;
    this.#waiters = [];
    for (const waiter of due) waiter.reject(error);
  }

  #markDurable(): void {
    if (this.#durable === this.#next) return;
    this.#durable = this.#next;
    this.#stats.syncs += 1;
    this.#freeExtents();
  }

  #freeExtents(): void {
    const checkpointed = this.#checkpoints.at(-1)?.position ?? 0;
    this.#discards = this.#discards.filter(({ extent, after }) => {
      const ready = after <= this.#durable && (extent + 1) * this.extentBytes <= checkpointed;
      if (ready) this.#entries.drop(extent);
      return !ready;
    });
  }
}

/** A memory journal; see {@link MemoryJournal} for what tests may ask of it. */
export function createMemoryJournal(options: MemoryJournalOptions = {}): MemoryJournal {
  return new MemoryJournal(options);
}

function bytesOf(
  entries: readonly MemoryEntry[],
  position: Position,
  length: number,
): Uint8Array | undefined {
  for (const entry of entries) {
    const at = position - entry.position;
    if (at >= ENTRY_HEADER_BYTES && at + length <= entry.bytes.byteLength)
      return entry.bytes.subarray(at, at + length);
  }
  return undefined;
}
