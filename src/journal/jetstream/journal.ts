import type { Clock, Timer } from '../../base/clock.js';
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
import { RecentBatches } from './batch.js';
import { Checkpoints, type LoadedCheckpoint } from './checkpoints.js';
import { Committer } from './committer.js';
import { ExtentIndex } from './extent-index.js';
import { GROUP_HEADER_BYTES, readGroup } from './group.js';
import { LogReader, visitEntries, type ReadState } from './log-reader.js';
import type { JournalNames } from './names.js';
import { readMessage } from './range.js';
import { Reader } from './reader.js';
import { lostWay, Replay, type Mark, type ReplayParts } from './replay.js';
import type { FencedStream } from './stream.js';
import { Writer } from './writer.js';

/** Bytes handed in and not yet stored beyond which senders are refused. */
const PENDING_BYTES_MAX = 64 << 20;
/** How long a close waits for what is under way. */
const CLOSE_MS = 3_000;
const SPACE_POLL_MS = 5_000;

export interface JetStreamJournalParts {
  readonly stream: FencedStream;
  readonly checkpoints: FencedStream;
  readonly names: JournalNames;
  /** Of a new journal; one that exists keeps its own. */
  readonly extentBytes: number;
  readonly freshBytesMax: number;
  readonly minFreeBytes: number;
  readonly giveUpMs: number;
  readonly takenOver: ReplayParts['takenOver'];
  /** At the close: whoever only followed does not take over any more, and `takenOver` rejects. */
  readonly onClose: () => void;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly onFollow: ReplayParts['onFollow'];
  /** Another owner has the journal: nothing is committed here any more. */
  readonly onDeposed: (reason: string) => void;
}

/** The journal in a JetStream stream; docs/adr/0011 says why it is as it is. */
export class JetStreamJournal implements Journal {
  readonly extentBytes: number;
  readonly #p: JetStreamJournalParts;
  readonly #checkpoints: Checkpoints;
  readonly #recent: RecentBatches;
  readonly #index: ExtentIndex;
  readonly #reader: Reader;
  #loaded: LoadedCheckpoint | undefined;
  #mark: Mark | undefined;
  #writer: Writer | undefined;
  #committer: Committer | undefined;
  /** A place to replay from: of the newest checkpoint, or the end of the log at the opening. */
  #replayFrom: { readonly position: Position; readonly state: ReadState };
  /** Extents of subjects that nothing in the log refers to. */
  #leftovers: number[] = [];
  readonly #givenUp = new Set<number>();
  #discarded: Discarded[] = [];
  #checkpointing: Promise<void> = Promise.resolve();
  #purging: Promise<void> = Promise.resolve();
  #freeBytes = Number.MAX_SAFE_INTEGER;
  #timer: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: JetStreamJournalParts) {
    this.#p = parts;
    this.extentBytes = parts.extentBytes;
    this.#checkpoints = new Checkpoints({ ...parts, stream: parts.checkpoints });
    this.#recent = new RecentBatches(parts.freshBytesMax);
    this.#index = new ExtentIndex(this.extentBytes);
    this.#reader = new Reader(parts, this.#recent, this.#index);
    this.#replayFrom = { position: 0, state: { seq: 1, epoch: 0, end: 0 } };
  }

  get position(): Position {
    return this.#writer?.position ?? this.#replayFrom.position;
  }

  async checkpoint(): Promise<Checkpoint | undefined> {
    this.#loaded = await this.#checkpoints.load();
    if (this.#loaded === undefined) return undefined;
    const { position, replay, data } = this.#loaded;
    this.#replayFrom = { position, state: replay };
    return { position, data };
  }

  async replay(from: Position, visit: (position: Position, payload: Uint8Array) => void): Promise<void> {
    const { stream, names, clock, log } = this.#p;
    const { state } = this.#replayFrom;
    if (this.#loaded !== undefined) this.#index.decode(this.#loaded.index, state.seq);
    this.#loaded = undefined;
    const reader = new LogReader(state, (groups) => {
      for (const { seq, subject, header, payload } of groups) {
        const end = header.start + payload.byteLength - GROUP_HEADER_BYTES;
        this.#index.add({ seq, start: header.start, end }, names.extentOf(subject) ?? 0);
      }
      visitEntries(groups, from, visit);
    });
    const oldestCheckpoint = (): Promise<Position> => this.#checkpoints.readOldest();
    this.#mark = await new Replay({ ...this.#p, oldestCheckpoint }, reader, state.seq).run();
    const { epoch } = this.#mark;
    if (reader.passedOver > 0)
      log.info('messages that never became part of the log were passed over', { count: reader.passedOver });
    this.#replayFrom = { position: reader.end, state: { seq: epoch + 1, epoch, end: reader.end } };
    const subjects = (await stream.subjects()).flatMap((subject) => names.extentOf(subject) ?? []);
    const known = this.#index.extents();
    this.#leftovers = subjects.filter((extent) => !known.includes(extent));
    const reached = Math.ceil(Math.max(reader.reached, reader.end) / this.extentBytes);
    this.#writer = new Writer({
      recent: this.#recent,
      extentBytes: this.extentBytes,
      payloadBytesMax: stream.payloadBytesMax,
      // Never one that was used, by whatever became of it.
      nextExtent: Math.max(
        reached,
        ...known.map((extent) => extent + 1),
        ...subjects.map((extent) => extent + 1),
      ),
      logEnd: reader.end,
      clock,
    });
    await this.#checkpoints.takeOver(epoch);
    // Nobody puts a checkpoint in front any more: what was purged unread shows now.
    if (reader.end < this.#checkpoints.oldest) throw lostWay();
  }

  start(listener: JournalListener): void {
    const writer = this.#writer;
    const mark = this.#mark;
    if (writer === undefined || mark === undefined)
      throw new BrokerError('internal', 'the journal must be replayed before it starts');
    const { stream, names, giveUpMs, clock, monotonicMs, log, onDeposed } = this.#p;
    const committer = new Committer({
      stream,
      names,
      extentBytes: this.extentBytes,
      ...mark,
      giveUpMs,
      logEnd: this.#replayFrom.position,
      clock,
      monotonicMs,
      log,
      stored: (batch) => batch.place(this.#index),
      committed: (below) => {
        writer.committed(below);
        if (this.#discarded.length > 0) this.#freeDiscarded();
      },
      failed: (error) => writer.failed(error),
      roomCame: () => writer.roomCame(),
      resumed: () => writer.resume(),
      deposed: onDeposed,
    });
    this.#committer = committer;
    writer.start(listener, committer);
    this.#pollSpace();
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
      const state = await this.#stateAt(position);
      const { extentBytes } = this;
      await this.#checkpoints.write({ position, replay: state, extentBytes }, this.#index.encode(), parts);
      this.#replayFrom = { position, state };
      this.#freeDiscarded();
    });
    this.#checkpointing = write.catch(() => undefined);
    return write;
  }

  extents(): readonly number[] {
    return [...this.#index.extents(), ...this.#leftovers].sort((a, b) => a - b);
  }

  discard(extents: readonly number[]): void {
    const after = this.position;
    for (const extent of extents) {
      if (this.#givenUp.has(extent)) continue;
      this.#givenUp.add(extent);
      const { first, last } = this.#index.spanOf(extent);
      let whole = true;
      for (let one = first; one <= last; one++) whole &&= this.#givenUp.has(one);
      if (whole) this.#discarded.push({ first, last, after });
    }
    this.#freeDiscarded();
  }

  space(): JournalSpace {
    return {
      freeBytes: this.#freeBytes,
      usedBytes: this.#index.bytes + this.#checkpoints.usedBytes,
    };
  }

  get broken(): boolean {
    return this.#committer?.deposed === true;
  }

  get shortage(): string | undefined {
    const refusal = this.#writer?.refusal;
    if (refusal !== undefined) return refusal;
    if (this.#freeBytes < this.#p.minFreeBytes) return 'the stream of the journal is nearly full';
    const isSlow = this.#committer?.overdue === true || (this.#writer?.pendingBytes ?? 0) > PENDING_BYTES_MAX;
    return isSlow ? 'NATS does not keep up' : undefined;
  }

  stats(): JournalStats {
    const commits = this.#committer?.stats ?? { groups: 0, syncs: 0, commitMsMax: 0, commitMsTotal: 0 };
    return { ...commits, entries: this.#writer?.entries ?? 0, bytes: this.#writer?.bytes ?? 0 };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#timer?.cancel();
    this.#p.onClose();
    this.#writer?.closing();
    const { clock } = this.#p;
    const late = new Promise<void>((resolve) => clock.after(CLOSE_MS, resolve));
    await Promise.race([this.flush().catch(() => undefined), late]);
    this.#committer?.close();
    this.#writer?.closed();
    await Promise.race([Promise.all([this.#checkpointing, this.#purging]), late]);
  }

  /** Where a replay begins that is to see the entries from `position` on; all before is stored. */
  async #stateAt(position: Position): Promise<ReadState> {
    if (position === this.#replayFrom.position) return this.#replayFrom.state;
    const place = this.#index.find(position - 1);
    const message = place === undefined ? undefined : await readMessage(this.#p, place.seq);
    const header = message === undefined ? undefined : readGroup(message.payload);
    if (place === undefined || header === undefined)
      throw new BrokerError('unavailable', 'the stream does not show the message a checkpoint begins at');
    return place.end === position
      ? { seq: place.seq + 1, epoch: header.epoch, end: position }
      : { seq: place.seq, epoch: header.epoch, end: header.prev };
  }

  #freeDiscarded(): void {
    const committed = this.#committer?.committed ?? 0;
    const { oldest } = this.#checkpoints;
    this.#discarded = this.#discarded.filter(({ first, last, after }) => {
      if (after > committed || (last + 1) * this.extentBytes > oldest) return true;
      this.#index.drop(first, last);
      this.#reader.forget(first * this.extentBytes, (last + 1) * this.extentBytes);
      for (let extent = first; extent <= last; extent++) this.#givenUp.delete(extent);
      this.#leftovers = this.#leftovers.filter((extent) => extent !== first);
      this.#purge(first);
      return false;
    });
  }

  /** Safe however late it happens: that nothing refers to the extent is in the log, and nothing will. */
  #purge(extent: number): void {
    const { stream, names, log } = this.#p;
    this.#purging = this.#purging.then(async () => {
      try {
        await stream.purge(names.extent(extent));
      } catch (error) {
        // Whoever looks for extents to discard finds it again.
        this.#leftovers.push(extent);
        log.debug('an extent could not be removed, it is tried again later', {
          extent,
          error: String(error),
        });
      }
    });
  }

  #pollSpace(): void {
    this.#timer = this.#p.clock.after(SPACE_POLL_MS, () => {
      this.#p.stream
        .freeBytes()
        .then((bytes) => (this.#freeBytes = bytes ?? Number.MAX_SAFE_INTEGER))
        .catch(() => undefined)
        .finally(() => {
          if (this.#closing === undefined) this.#pollSpace();
        });
    });
  }
}

/** Extents that are given up once this much is stored, and the oldest checkpoint is newer. */
interface Discarded {
  readonly first: number;
  readonly last: number;
  readonly after: Position;
}
