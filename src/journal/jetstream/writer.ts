import type { Clock, Timer } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type { JournalListener, Position } from '../../core/ports/journal.js';
import { Batch, type RecentBatches } from './batch.js';
import type { Committer } from './committer.js';
import { GROUP_HEADER_BYTES, GroupKind } from './group.js';

/** Bytes of entries in one message, when the server takes that much. */
const BATCH_BYTES_MAX = 512 * 1024;
/** Beside others that are under way only a batch of this size goes out: small ones gather. */
const BESIDE_BYTES_MIN = 64 * 1024;
/** An unforced entry waits this long for a forced one to ride with. */
const UNFORCED_DELAY_MS = 2;
/** Room for NATS's own headers beside the payload. */
const WIRE_BYTES = 1024;

export interface WriterParts {
  readonly recent: RecentBatches;
  readonly extentBytes: number;
  readonly payloadBytesMax: number;
  readonly nextExtent: number;
  readonly logEnd: Position;
  readonly clock: Clock;
}

/** Gives entries their positions and gathers them into batches. Positions of lost entries are never used again. */
export class Writer {
  entries = 0;
  bytes = 0;
  readonly #p: WriterParts;
  readonly #batchBytes: number;
  #committer: Committer | undefined;
  #listener: JournalListener | undefined;
  #state: 'idle' | 'running' | 'closing' | 'closed' = 'idle';
  #next: Position;
  #limit: Position = 0;
  #nextExtent: number;
  /** End of the last entry that was taken and not lost. */
  #logEnd: Position;
  #open: Batch | undefined;
  #full: Batch[] = [];
  #pendingBytes = 0;
  #due = false;
  #turnEnds = false;
  #timer: Timer | undefined;
  /** Why nothing is taken at the moment. */
  #stall: BrokerError | undefined;
  #refusal = new BrokerError('unavailable', 'the journal cannot be written to');
  #refusedFrom: Position | undefined;
  #waiters: { below: Position; resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(parts: WriterParts) {
    this.#p = parts;
    this.#batchBytes = Math.min(BATCH_BYTES_MAX, parts.payloadBytesMax - GROUP_HEADER_BYTES - WIRE_BYTES);
    this.#nextExtent = parts.nextExtent;
    this.#next = parts.nextExtent * parts.extentBytes;
    this.#logEnd = parts.logEnd;
  }

  get position(): Position {
    return this.#logEnd;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Why nothing is taken at the moment. */
  get refusal(): string | undefined {
    return this.#stall?.message;
  }

  start(listener: JournalListener, committer: Committer): void {
    this.#listener = listener;
    this.#committer = committer;
    this.#state = 'running';
  }

  append(entry: Uint8Array, forced: boolean): Position {
    if (this.#state !== 'running')
      throw new BrokerError('unavailable', 'the journal is not open for writing');
    const length = entry.byteLength;
    // An entry behind one that was refused and not yet reported would be reported with it.
    if (this.#stall !== undefined || this.#refusedFrom !== undefined) return this.#refuse(length);
    if (this.#next + length > this.#limit) this.#roll(length);
    const position = this.#next;
    stampEntry(entry);
    if (length > this.#batchBytes) this.#addLarge(entry);
    else this.#add(entry, length);
    this.entries += 1;
    this.bytes += length;
    this.#pendingBytes += length;
    this.#logEnd = this.#next;
    if (this.#open !== undefined && forced) this.#open.forced = true;
    if (this.#full.length > 0) this.#pump();
    if (forced || this.#open === undefined) this.#endTurn();
    else this.#armUnforced();
    return position + ENTRY_HEADER_BYTES;
  }

  /** Resolves when everything appended before is stored. */
  async flush(): Promise<void> {
    if (this.#stall !== undefined) throw this.#stall;
    if (this.#state === 'closed') throw new BrokerError('unavailable', 'the journal is closed');
    const below = this.#logEnd;
    if (this.#committer === undefined || this.#committer.committed >= below) return;
    this.#due = this.#open !== undefined;
    this.#pump();
    await new Promise<void>((resolve, reject) => this.#waiters.push({ below, resolve, reject }));
  }

  committed(below: Position): void {
    this.#pendingBytes = Math.max(0, this.#logEnd - below);
    this.#p.recent.trim();
    this.#listener?.committed(below);
    const due = this.#waiters;
    if (due.length > 0) {
      this.#waiters = due.filter((waiter) => waiter.below > below);
      for (const waiter of due) if (waiter.below <= below) waiter.resolve();
      this.#due = this.#open !== undefined;
    }
    this.#pump();
  }

  roomCame(): void {
    this.#pump();
  }

  /** Everything that is not committed is lost, and all that comes until `resume` too. */
  failed(error: BrokerError): void {
    const end = this.#committer?.committed ?? this.#logEnd;
    const isLost = this.#logEnd > end;
    this.#stall = error;
    this.#refusal = error;
    this.#open = undefined;
    this.#full = [];
    this.#pendingBytes = 0;
    this.#due = false;
    this.#limit = 0;
    this.#logEnd = end;
    this.#p.recent.drop(end);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
    if (isLost) this.#listener?.lost(end, error);
  }

  resume(): void {
    this.#reportRefused();
    this.#stall = undefined;
    this.#limit = 0;
  }

  /** Stops taking entries; what was taken goes out. */
  closing(): void {
    if (this.#state !== 'running') return;
    this.#state = 'closing';
    this.#due = this.#open !== undefined;
    this.#pump();
  }

  closed(): void {
    this.#state = 'closed';
    this.#reportRefused();
    this.#timer?.cancel();
    this.#listener = undefined;
    for (const waiter of this.#waiters.splice(0))
      waiter.reject(new BrokerError('unavailable', 'the journal is closed'));
  }

  #add(entry: Uint8Array, length: number): void {
    let batch = this.#open;
    if (batch !== undefined && batch.bytes + length > this.#batchBytes) {
      this.#closeBatch();
      batch = undefined;
    }
    batch ??= this.#begin(GroupKind.entries, Math.floor(this.#next / this.#p.extentBytes));
    batch.add(entry);
    batch.entries += 1;
    this.#next = batch.end;
  }

  /** An entry that no message takes goes in parts. */
  #addLarge(entry: Uint8Array): void {
    this.#closeBatch();
    const subject = Math.floor(this.#next / this.#p.extentBytes);
    for (let at = 0; at < entry.byteLength; at += this.#batchBytes) {
      const isLast = at + this.#batchBytes >= entry.byteLength;
      const batch = this.#begin(
        at === 0 ? GroupKind.first : isLast ? GroupKind.last : GroupKind.middle,
        subject,
      );
      batch.add(entry.subarray(at, at + this.#batchBytes));
      if (isLast) batch.entries = 1;
      this.#next = batch.end;
      this.#logEnd = batch.end;
      this.#closeBatch();
    }
  }

  #begin(kind: GroupKind, subject: number): Batch {
    const batch = new Batch({ start: this.#next, prev: this.#logEnd, subject, kind });
    this.#open = batch;
    this.#p.recent.add(batch);
    return batch;
  }

  #roll(length: number): void {
    this.#closeBatch();
    const { extentBytes } = this.#p;
    const extents = Math.max(1, Math.ceil(length / extentBytes));
    this.#next = this.#nextExtent * extentBytes;
    this.#nextExtent += extents;
    // An entry larger than an extent has its extents to itself: they go when it does.
    this.#limit = extents > 1 ? this.#next + length : this.#nextExtent * extentBytes;
  }

  #closeBatch(): void {
    if (this.#open === undefined) return;
    this.#full.push(this.#open);
    this.#open = undefined;
  }

  #pump(): void {
    const committer = this.#committer;
    if (committer === undefined || this.#stall !== undefined) return;
    while (committer.room) {
      const full = this.#full.shift();
      if (full !== undefined) {
        committer.send(full);
        continue;
      }
      const open = this.#open;
      if (open === undefined || !this.#due) return;
      if (committer.inFlight > 0 && open.bytes < BESIDE_BYTES_MIN) return;
      this.#open = undefined;
      this.#due = false;
      committer.send(open);
    }
  }

  /** Everything that this turn of the event loop appends goes out together. */
  #endTurn(): void {
    if (this.#turnEnds) return;
    this.#turnEnds = true;
    setImmediate(() => {
      this.#turnEnds = false;
      this.#reportRefused();
      this.#due = this.#open !== undefined;
      this.#pump();
    });
  }

  #armUnforced(): void {
    this.#timer ??= this.#p.clock.after(UNFORCED_DELAY_MS, () => {
      this.#timer = undefined;
      this.#due = this.#open !== undefined;
      this.#pump();
    });
  }

  /** Gives an entry that will not be written a position of its own all the same. */
  #refuse(length: number): Position {
    if (this.#next + length > this.#limit) this.#roll(length);
    const position = this.#next;
    this.#next += length;
    this.#refusedFrom ??= position;
    this.#endTurn();
    return position + ENTRY_HEADER_BYTES;
  }

  #reportRefused(): void {
    const from = this.#refusedFrom;
    if (from === undefined) return;
    this.#refusedFrom = undefined;
    this.#limit = 0;
    this.#listener?.lost(from, this.#refusal);
  }
}

/** The journal's use of an entry's room: 4 bytes of payload length; the message around it has its own check. */
function stampEntry(entry: Uint8Array): void {
  const length = entry.byteLength - ENTRY_HEADER_BYTES;
  entry.fill(0, 0, ENTRY_HEADER_BYTES);
  entry[0] = length;
  entry[1] = length >>> 8;
  entry[2] = length >>> 16;
  entry[3] = length >>> 24;
}
