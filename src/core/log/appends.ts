import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { encodeMessage, mintedId } from '../message-codec.js';
import type { PendingOperation } from '../partition/pipeline.js';
import { RecordType, writeSequences } from '../partition/records.js';
import type { EventsAlong } from '../queue/along.js';
import type { Queue } from '../queue/family.js';
import type { QueueService } from '../queue/queue-service.js';
import type { EventLog } from './event-log.js';
import { FanOut, type Copies } from './fan-out.js';
import type { AppendResult } from './types.js';

/** Bytes of an entry around one event, and around one copy of it. */
const EVENT_BYTES = 64;
const COPY_BYTES = 16;

/** Events of one log that stand side by side in a batch: sequences `[first, end)`, of which `at` is the first's place in the batch. */
export interface Run {
  readonly log: EventLog;
  readonly at: number;
  readonly first: number;
  end: number;
}

/** What the service does for its appends. */
export interface AppendHost {
  /** The log of a name; throws `not-found` unless it may be made. */
  forAppend(name: ChannelName, createMissing: boolean): EventLog;
  /** Something was appended to it and is durable. */
  appended(log: EventLog): void;
}

/** What the sender of one event hears. */
class Appended implements AppendResult {
  readonly sequence: number;
  readonly storedAt: number;
  readonly #ownId: string | undefined;
  readonly #logId: number;

  constructor(log: EventLog, sequence: number, storedAt: number, ownId: string | undefined) {
    this.sequence = sequence;
    this.storedAt = storedAt;
    this.#ownId = ownId;
    this.#logId = log.id;
  }

  // Minting costs more than the rest of an append, and few senders look.
  get id(): string {
    return this.#ownId ?? mintedId(this.#logId, this.sequence);
  }
}

/** Appends to logs: the entry, the copies for their fan-out targets, and what happens when it is durable. */
export class Appends {
  readonly #core: CoreContext;
  readonly #queues: QueueService;
  readonly #host: AppendHost;
  readonly #fanOut: FanOut;

  constructor(core: CoreContext, queues: QueueService, host: AppendHost) {
    this.#core = core;
    this.#queues = queues;
    this.#host = host;
    this.#fanOut = new FanOut(core, queues);
  }

  append(events: readonly OutgoingMessage[], createMissing: boolean): Promise<readonly AppendResult[]> {
    if (events.length === 0) return Promise.resolve([]);
    try {
      return this.#append(events, createMissing);
    } catch (caught) {
      return Promise.reject(BrokerError.from(caught));
    }
  }

  #append(events: readonly OutgoingMessage[], createMissing: boolean): Promise<readonly AppendResult[]> {
    const bytes = this.#queues.admission.check(events);
    const runs = this.#runsOf(events, createMissing);
    const operation = new AppendOperation(this, runs);
    this.write(operation, events, bytes);
    return new Promise((resolve, reject) => {
      operation.resolve = resolve;
      operation.reject = reject;
    });
  }

  /**
   * Appends dead letters and, in the same entry, takes the picked slot they come from out of its queue, when there is one.
   * `ended` hears whether that could be written.
   */
  forward(
    events: readonly OutgoingMessage[],
    from: Sender | undefined,
    ended: (written: boolean) => void,
  ): void {
    const operation = new AppendOperation(this, this.#runsOf(events, false), from);
    operation.ended = ended;
    // Its record must find the delivery it is about.
    this.#core.pipeline.flushSide();
    this.write(
      operation,
      events,
      events.reduce((sum, event) => sum + eventBytes(event), 0),
    );
  }

  /** Events for the entry of a send. Throws `not-found`, and what an append is refused with. */
  along(events: readonly OutgoingMessage[]): EventsAlong {
    const operation = new AppendOperation(this, this.#runsOf(events, false));
    const bytes = this.#queues.admission.check(events) + this.#overhead(operation, events);
    return {
      bytes,
      get slots() {
        return operation.slots;
      },
      write: () => this.#fill(operation, events),
      place: (position) => this.#placeAll(operation, position),
      commit: () => operation.commit(),
      lose: (error) => operation.lose(error),
    };
  }

  /** The record that takes a slot out of its queue. */
  departure({ queue, slot }: Sender): NonNullable<PendingOperation['acks']> {
    const { family } = queue;
    const sequence = this.#core.queues.table.sequence(slot);
    return {
      durable: family.settings.durable,
      write: (w) => {
        if (!family.settings.durable || queue.deleted) return;
        w.u8(RecordType.remove);
        w.u32(family.base.id);
        writeSequences(w, [sequence]);
      },
    };
  }

  /** Runs of events of the same log; what they will be numbered is known when they are written. */
  #runsOf(events: readonly OutgoingMessage[], createMissing: boolean): Run[] {
    const runs: Run[] = [];
    let name: ChannelName | undefined;
    for (let i = 0; i < events.length; i++) {
      const { channel } = events[i] as OutgoingMessage;
      if (channel === name) continue;
      name = channel;
      runs.push({ log: this.#host.forAppend(channel, createMissing), at: i, first: 0, end: 0 });
    }
    return runs;
  }

  /** Writes the batch as one entry. Throws what a copy's channel is refused with; nothing is left behind then. */
  write(operation: AppendOperation, events: readonly OutgoingMessage[], bytes: number): void {
    const { main } = this.#core.pipeline;
    main.begin(bytes + this.#overhead(operation, events));
    this.#fill(operation, events);
    this.#placeAll(operation, this.#core.pipeline.append(main, true, operation));
  }

  /** Bytes of the entry around the events and their copies. */
  #overhead(operation: AppendOperation, events: readonly OutgoingMessage[]): number {
    let targets = 0;
    for (const run of operation.runs) targets += run.log.targets.length;
    return events.length * (EVENT_BYTES + targets * COPY_BYTES);
  }

  /** Writes events and copies into the open entry. When it throws, that is abandoned and nothing is left behind. */
  #fill(operation: AppendOperation, events: readonly OutgoingMessage[]): void {
    const { main } = this.#core.pipeline;
    try {
      operation.acks?.write(main);
      this.#writeEvents(operation, events);
      for (const run of operation.runs) {
        if (run.log.targets.length > 0) this.#fanOut.write(run, events, operation.copies);
      }
    } catch (caught) {
      main.abandon();
      this.#fanOut.unwrite(operation.copies);
      this.undo(operation);
      throw BrokerError.from(caught);
    }
  }

  #placeAll(operation: AppendOperation, position: number): void {
    this.#fanOut.place(operation.copies, position);
    for (const run of operation.runs) this.#place(run, position);
  }

  /** Positions are offsets into the entry until it has one. */
  #writeEvents(operation: AppendOperation, events: readonly OutgoingMessage[]): void {
    const now = this.#core.clock.now();
    const { runs, results } = operation;
    for (let r = 0; r < runs.length; r++) {
      const run = runs[r] as { -readonly [K in keyof Run]: Run[K] };
      const { log } = run;
      const storedAt = Math.max(now, log.lastStoredAt);
      const behind = runs[r + 1]?.at ?? events.length;
      run.first = run.end = log.index.end;
      log.lastStoredAt = storedAt;
      for (let i = run.at; i < behind; i++) {
        const event = events[i] as OutgoingMessage;
        this.#writeEvent(log, event, storedAt);
        results.push(new Appended(log, run.end++, storedAt, event.id));
      }
    }
  }

  #writeEvent(log: EventLog, event: OutgoingMessage, storedAt: number): void {
    const { main } = this.#core.pipeline;
    const sequence = log.index.end;
    main.u8(RecordType.logAppend);
    main.u32(log.id);
    main.u64(sequence);
    main.u64(storedAt);
    const lengthAt = main.offset;
    main.u32(0);
    const at = main.offset;
    encodeMessage(main, event, log.id, sequence);
    const length = main.offset - at;
    main.patchU32(lengthAt, length);
    log.index.push(at, length, storedAt);
    log.bytes += length;
  }

  #place({ log, first, end }: Run, position: number): void {
    const { live } = this.#core.queues;
    log.index.shift(first, end, position);
    for (let s = first; s < end; s++) live.add(log.index.position(s), log.index.length(s));
  }

  /** The batch is durable. */
  commit(operation: AppendOperation): void {
    const { runs } = operation;
    for (const { log, end } of runs) if (!log.deleted) log.committed = Math.max(log.committed, end - 1);
    if (operation.from !== undefined) this.#leave(operation.from);
    this.#fanOut.land(operation.copies);
    let gone: EventLog | undefined;
    for (const { log } of runs) {
      if (log.deleted) gone = log;
      else this.#host.appended(log);
      for (const subscription of log.subscriptions) subscription.wake();
    }
    operation.ended?.(true);
    if (gone === undefined) operation.resolve?.(operation.results);
    else operation.reject?.(new BrokerError('not-found', `log '${gone.name}' was deleted`));
  }

  #leave({ queue, slot }: Sender): void {
    const { queues } = this.#core;
    if (queue.deleted) queues.discardPicked(slot);
    else queues.remove(queue, slot);
  }

  /** The batch will never be durable. */
  lose(operation: AppendOperation, error: BrokerError): void {
    const { live } = this.#core.queues;
    for (const { log, first, end } of operation.runs) {
      if (log.deleted) continue;
      for (let s = first; s < end; s++) live.remove(log.index.position(s), log.index.length(s));
    }
    this.undo(operation);
    operation.ended?.(false);
    operation.reject?.(error);
  }

  /** Takes the events and copies back out of memory, last ones first. */
  undo(operation: AppendOperation): void {
    const { runs } = operation;
    for (let r = runs.length - 1; r >= 0; r--) {
      const { log, first, end } = runs[r] as Run;
      if (log.deleted || first === 0) continue;
      for (let s = first; s < end; s++) log.bytes -= log.index.length(s);
      log.index.truncate(first);
    }
    this.#fanOut.abandon(operation.copies);
  }
}

/** What a dead letter takes beside its body; an estimate that sizes the entry. */
function eventBytes({ body, origin, tags }: OutgoingMessage): number {
  let bytes = body.length + (origin?.bytes.length ?? 0);
  for (const [key, value] of tags ?? []) bytes += key.length + value.length;
  return bytes;
}

/** Where a dead letter is until its append is durable: a picked slot. */
export interface Sender {
  readonly queue: Queue;
  readonly slot: number;
}

/** One append on its way to the disk. */
export class AppendOperation implements PendingOperation {
  position = -1;
  readonly runs: Run[];
  readonly results: AppendResult[] = [];
  readonly copies: Copies = { slots: [], queues: [] };
  resolve: ((results: readonly AppendResult[]) => void) | undefined;
  reject: ((error: BrokerError) => void) | undefined;
  /** Hears whether it was written, also of a log that has gone since. */
  ended: ((written: boolean) => void) | undefined;
  readonly from: Sender | undefined;
  readonly #appends: Appends;

  constructor(appends: Appends, runs: Run[], from?: Sender) {
    this.#appends = appends;
    this.runs = runs;
    this.from = from;
  }

  get size(): number {
    return this.results.length;
  }

  /** What leaves its queue with this entry. */
  get acks(): PendingOperation['acks'] {
    return this.from === undefined ? undefined : this.#appends.departure(this.from);
  }

  get slots(): readonly number[] {
    return this.copies.slots;
  }

  commit(): void {
    this.#appends.commit(this);
  }

  lose(error: BrokerError): void {
    this.#appends.lose(this, error);
  }
}
