import { BrokerError } from '../errors.js';
import type { EventLog } from '../log/event-log.js';
import { State } from '../queue/message-table.js';
import type { Changes } from '../registry/changes.js';
import type { PartitionState } from './checkpoint.js';
import { writeCheckpoint } from './checkpoint.js';
import { EntryWriter } from './entry-writer.js';
import { RecordType } from './records.js';
import { SparseExtents } from './sparse-extents.js';

/** Journal bytes between checkpoints, in sizes of the last one: fewer replay faster, more write less. */
const CHECKPOINT_SPACING = 1.5;

/** Bytes of survivors the cleaner puts into one entry. */
const CLEAN_ENTRY_BYTES = 1024 * 1024;

/** Room for acknowledgements repeated behind a checkpoint; it grows when there are more. */
const CHECKPOINT_ACKS_BYTES = 4096;

/** A body to be copied, and who refers to it. */
interface Survivor {
  readonly position: number;
  readonly length: number;
  readonly slots: number[];
  readonly events: { readonly log: EventLog; readonly sequence: number }[];
}

/**
 * Keeps restart short and the disk small: writes checkpoints by the amount journaled since the last one, gives up extents that
 * nothing refers to, and copies what is left in sparse ones forward.
 */
export class Housekeeping {
  readonly #state: PartitionState;
  readonly #changes: Changes;
  readonly #sparse: SparseExtents;
  readonly #writer = new EntryWriter(CLEAN_ENTRY_BYTES + 64 * 1024);
  #running: Promise<void> | undefined;
  #checkpointAt: number;
  #checkpointBytes = 0;
  #failedAt = -Infinity;
  checkpoints = 0;
  cleanedBytes = 0;

  /** `checkpointAt`: position the state was recovered from. */
  constructor(state: PartitionState, changes: Changes, checkpointAt: number) {
    this.#state = state;
    this.#changes = changes;
    this.#sparse = new SparseExtents(state);
    this.#checkpointAt = checkpointAt;
  }

  /** Called after each committed group: starts a checkpoint when enough was written since the last. */
  look(): void {
    const { journal, limits, clock } = this.#state.core;
    if (this.#running !== undefined || this.#state.logs.rewinds.active > 0) return;
    const due = Math.max(limits.checkpointEveryBytes, this.#checkpointBytes * CHECKPOINT_SPACING);
    if (journal.position - this.#checkpointAt < due || clock.now() < this.#failedAt + RETRY_AFTER_MS) return;
    void this.run();
  }

  /** Resolves when nothing of it is at work. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Writes a checkpoint and cleans; resolves when done, whatever came of it. One at a time. */
  run(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #round(): Promise<void> {
    const { log, clock } = this.#state.core;
    try {
      if (await this.#checkpoint()) await this.#clean();
    } catch (caught) {
      // Nothing is lost without it: the journal stays as it is and the next start replays more.
      this.#failedAt = clock.now();
      log.warn('a checkpoint could not be written; it is tried again later', {
        error: BrokerError.from(caught).message,
      });
    }
  }

  async #checkpoint(): Promise<boolean> {
    const { pipeline, journal } = this.#state.core;
    // Registry changes take effect when durable; a state between the two has no name.
    if (this.#changes.pending > 0 || this.#state.logs.rewinds.active > 0) return false;
    pipeline.flushSide();
    const position = journal.position;
    const arriving: number[] = [];
    for (const operation of pipeline.waiting())
      if (operation.slots !== undefined) arriving.push(...operation.slots);
    const parts = writeCheckpoint(this.#state, arriving);
    this.#repeatAcks();
    // What the state rests on must be on disk before the state is.
    await journal.flush();
    await journal.writeCheckpoint(position, parts);
    this.#checkpointAt = position;
    this.#checkpointBytes = parts.reduce((sum, part) => sum + part.length, 0);
    this.checkpoints++;
    this.#discard();
    return true;
  }

  /** Entries before the checkpoint are not read again: what is still to leave with one of them is said once more behind it. */
  #repeatAcks(): void {
    const { pipeline } = this.#state.core;
    const waiting = pipeline.waiting().filter((operation) => operation.acks?.durable === true);
    if (waiting.length === 0) return;
    pipeline.main.begin(CHECKPOINT_ACKS_BYTES);
    for (const { acks } of waiting) acks?.write(pipeline.main);
    // Lost only together with the entries it repeats.
    pipeline.append(pipeline.main, false, undefined);
  }

  #discard(): void {
    const { journal, queues, pipeline } = this.#state.core;
    // What emptied the extents has to be in the journal before they are given up.
    pipeline.flushSide();
    const boundary = Math.floor(this.#checkpointAt / journal.extentBytes);
    const live = new Set(queues.live.extents());
    const idle = journal.extents().filter((extent) => extent < boundary && !live.has(extent));
    if (idle.length > 0) journal.discard(idle);
  }

  /** Copies the survivors of sparse extents forward; the next checkpoint gives the extents up. */
  async #clean(): Promise<void> {
    const { journal } = this.#state.core;
    const sparse = this.#sparse.choose(Math.floor(this.#checkpointAt / journal.extentBytes));
    if (sparse.size === 0) return;
    const survivors = this.#survivors(sparse);
    for (let i = 0; i < survivors.length;) i = await this.#copy(survivors, i);
  }

  #survivors(extents: ReadonlySet<number>): Survivor[] {
    const { journal, queues } = this.#state.core;
    const { table } = queues;
    const found = new Map<number, Survivor>();
    const look = (position: number, length: number): Survivor | undefined => {
      if (position < 0 || !extents.has(Math.floor(position / journal.extentBytes))) return undefined;
      let survivor = found.get(position);
      if (survivor === undefined) {
        survivor = { position, length, slots: [], events: [] };
        found.set(position, survivor);
      }
      return survivor;
    };
    for (let slot = 0; slot < table.end; slot++) {
      if (table.state(slot) !== State.free) look(table.position(slot), table.length(slot))?.slots.push(slot);
    }
    for (const log of this.#state.logs.byId.values()) {
      for (let s = log.index.first; s < log.index.end; s++) {
        look(log.index.position(s), log.index.length(s))?.events.push({ log, sequence: s });
      }
    }
    return [...found.values()].sort((a, b) => a.position - b.position);
  }

  /** Copies survivors from index `from` on, about one entry's worth; resolves to the next index when they have their new place. */
  async #copy(survivors: readonly Survivor[], from: number): Promise<number> {
    const { journal, pipeline } = this.#state.core;
    const payloads: Uint8Array[] = [];
    let bytes = 0;
    let next = from;
    while (next < survivors.length && (bytes === 0 || bytes < CLEAN_ENTRY_BYTES)) {
      const { position, length } = survivors[next++] as Survivor;
      payloads.push(journal.peek(position, length) ?? (await journal.read(position, length)));
      bytes += length;
    }
    const w = this.#writer;
    w.begin(bytes + payloads.length * 16);
    const offsets = payloads.map((payload, i) => {
      w.u8(RecordType.relocate);
      w.u64((survivors[from + i] as Survivor).position);
      w.u32(payload.length);
      const offset = w.offset;
      w.bytes(payload);
      return offset;
    });
    await new Promise<void>((resolve, reject) => {
      const base = pipeline.append(w, false, {
        position: -1,
        commit: () => {
          offsets.forEach((offset, i) => {
            this.#place(survivors[from + i] as Survivor, base + offset);
          });
          this.cleanedBytes += bytes;
          resolve();
        },
        lose: reject,
      });
    });
    return next;
  }

  /** Points those who still refer to a body at its new place. */
  #place(survivor: Survivor, place: number): void {
    const { table, live } = this.#state.core.queues;
    const { position, length } = survivor;
    if (survivor.slots.length + survivor.events.length > 1) live.share(place);
    for (const slot of survivor.slots) {
      // Gone, or its slot belongs to another message by now.
      if (table.state(slot) === State.free || table.position(slot) !== position) continue;
      table.chunk(slot).position[table.index(slot)] = place;
      live.remove(position, length);
      live.add(place, length);
    }
    for (const { log, sequence } of survivor.events) {
      if (log.deleted || sequence < log.index.first || sequence >= log.index.end) continue;
      log.index.setPosition(sequence, place);
      live.remove(position, length);
      live.add(place, length);
    }
  }

  /** Waits for a running round, then writes a last checkpoint when it is wanted. */
  async close(lastCheckpoint: boolean): Promise<void> {
    await this.#running;
    if (lastCheckpoint) await this.run();
  }
}

/** Pause after a checkpoint that failed. */
const RETRY_AFTER_MS = 10_000;
