import { DeadlineHeap } from '../../base/deadline-heap.js';
import type { ChannelName } from '../channel-name.js';
import { channelNameFault } from '../channel-name.js';
import { NOT_HELD_RETRY_MS, type CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { MessageView } from '../message-codec.js';
import { EntryWriter } from '../partition/entry-writer.js';
import { ChannelKind, RecordType, writeOpenChannel } from '../partition/records.js';
import type { QueueService } from '../queue/queue-service.js';
import { Appends } from './appends.js';
import { EventLog } from './event-log.js';
import { Rewinds } from './rewinds.js';
import { Subscription, type SubscriptionHost } from './subscription.js';
import type {
  AppendResult,
  FanOutTarget,
  LogEvent,
  LogReadRequest,
  LogSettings,
  LogStats,
  LogSubscription,
  StartPosition,
  SubscribeRequest,
} from './types.js';
import { DEFAULT_LOG_SETTINGS } from './types.js';

const OPENING_ARENA_BYTES = 16 * 1024;

/** All operations on logs of one partition. */
export class LogService {
  readonly #core: CoreContext;
  readonly #queues: QueueService;
  readonly byId = new Map<number, EventLog>();
  readonly byName = new Map<string, EventLog>();
  readonly #writer = new EntryWriter(OPENING_ARENA_BYTES);
  /** By log id: when its oldest event is too old. */
  readonly #ages = new DeadlineHeap();
  readonly #appends: Appends;
  readonly rewinds: Rewinds;

  constructor(core: CoreContext, queues: QueueService) {
    this.#core = core;
    this.#queues = queues;
    this.#appends = new Appends(core, queues, this);
    this.rewinds = new Rewinds(core, queues, this);
    queues.connectLogs(
      {
        has: (name) => this.find(name) !== undefined,
        nameOf: (name) => this.find(name)?.name ?? name,
        forward: (events, from, ended) => this.#appends.forward(events, from, ended),
      },
      (events) => this.#appends.along(events),
    );
    const ages = this.#ages;
    const sweep = (now: number): void => {
      this.#sweep(now);
    };
    core.scheduler.add({
      get next() {
        return ages.next;
      },
      run: sweep,
    });
  }

  find(name: ChannelName): EventLog | undefined {
    return this.byName.get(name) ?? this.byName.get(this.#queues.channels.resolve(name));
  }

  adopt(log: EventLog): EventLog {
    this.byId.set(log.id, log);
    this.byName.set(log.name, log);
    return log;
  }

  /** Makes a log in memory; the caller journals it. */
  create(name: ChannelName, settings: LogSettings): EventLog {
    const fault = channelNameFault(name);
    if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
    if (this.byId.size >= this.#core.limits.queuesMax) throw new BrokerError('limit', 'too many logs');
    return this.adopt(new EventLog(this.#queues.channels.ids.take(), name, settings));
  }

  /** Makes a log at once; its record goes out before anything that refers to it. */
  open(name: ChannelName, settings: LogSettings): EventLog {
    const log = this.create(name, settings);
    const w = this.#writer;
    w.begin(256);
    writeOpenChannel(w, {
      id: log.id,
      kind: ChannelKind.log,
      name,
      baseId: 0,
      settings: JSON.stringify(settings),
    });
    this.#core.pipeline.appendLasting(w, () => undefined);
    return log;
  }

  /** Deletes a log in memory; the caller has journaled it. */
  drop(log: EventLog): void {
    log.deleted = true;
    for (let s = log.index.first; s < log.index.end; s++) this.#unlive(log, s);
    // What is still on its way to the disk finds nothing to take back.
    log.index.truncate(log.index.first);
    log.bytes = 0;
    this.byId.delete(log.id);
    if (this.byName.get(log.name) === log) this.byName.delete(log.name);
    this.#ages.remove(log.id);
    for (const subscription of log.subscriptions) subscription.wake();
  }

  #unlive(log: EventLog, sequence: number): void {
    this.#core.queues.live.remove(log.index.position(sequence), log.index.length(sequence));
  }

  append(
    events: readonly OutgoingMessage[],
    options: { readonly createMissing?: boolean },
  ): Promise<readonly AppendResult[]> {
    return this.#appends.append(events, options.createMissing === true);
  }

  /** The log of a name; throws `not-found` unless it may be made. */
  forAppend(name: ChannelName, createMissing: boolean): EventLog {
    const log = this.find(name);
    if (log !== undefined) return log;
    if (!createMissing) throw new BrokerError('not-found', `no log '${name}'`);
    return this.open(this.#queues.channels.resolve(name), DEFAULT_LOG_SETTINGS);
  }

  /** Something was appended. Age alone is looked at when the oldest event is due, and not with every append. */
  appended(log: EventLog): void {
    const { retentionCount, retentionBytes } = log.settings;
    if (retentionCount > 0 || retentionBytes > 0 || this.#ages.of(log.id) === undefined) this.retain(log);
  }

  /** Lets retention take what it may and sets the clock for the next. */
  retain(log: EventLog): void {
    const { retentionCount, retentionBytes, retentionMs } = log.settings;
    if (retentionCount === 0 && retentionBytes === 0 && retentionMs === 0) return;
    const first = log.retainFrom(this.#core.clock.now());
    if (first > log.index.first) {
      this.trim(log, first);
      const w = this.#core.pipeline.side(32);
      w.u8(RecordType.logTrim);
      w.u32(log.id);
      w.u64(first);
    }
    if (retentionMs > 0 && log.index.first <= log.committed) {
      this.#ages.set(log.id, log.index.storedAt(log.index.first) + retentionMs);
    }
  }

  /** The in-memory half of a logTrim record. */
  trim(log: EventLog, first: number): void {
    for (let s = log.index.first; s < Math.min(first, log.index.end); s++) {
      this.#unlive(log, s);
      log.bytes -= log.index.length(s);
    }
    log.index.trim(first);
  }

  #sweep(now: number): void {
    for (let id = this.#ages.pop(now); id >= 0; id = this.#ages.pop(now)) {
      const log = this.byId.get(id);
      if (log !== undefined) this.retain(log);
    }
  }

  subscribe(request: SubscribeRequest): LogSubscription {
    const log = this.forAppend(request.channel, request.createMissing === true);
    const { durable } = request;
    if (durable !== undefined) {
      for (const other of log.subscriptions) {
        if (other.durable === durable) {
          throw new BrokerError('already-exists', `'${durable}' is already subscribed to '${log.name}'`);
        }
      }
    }
    const kept = durable === undefined ? undefined : log.cursors.get(durable);
    const next = kept === undefined ? this.#startOf(log, request.start) : kept + 1;
    const { tenure, timeouts, clock, scheduler } = this.#core;
    const host: SubscriptionHost = {
      read: this.read.bind(this),
      saveCursor: this.#saveCursor.bind(this),
      mayAnswer: () => tenure.held,
      askAgain: (wake) => {
        timeouts.set(clock.now() + NOT_HELD_RETRY_MS, wake);
        scheduler.poke();
      },
    };
    if (durable !== undefined && kept === undefined) this.#saveCursor(log, durable, next - 1);
    return new Subscription(log, host, { next, durable });
  }

  #startOf(log: EventLog, start: StartPosition): number {
    const { first } = log.index;
    switch (start.from) {
      case 'new':
        return log.committed + 1;
      case 'first':
        return first;
      case 'last':
        return Math.max(first, log.committed);
      case 'sequence':
        return Math.max(first, start.sequence);
      case 'time':
        return log.index.atTime(start.time);
      case 'delta':
        return log.index.atTime(this.#core.clock.now() - start.deltaMs);
    }
  }

  #saveCursor(log: EventLog, name: string, sequence: number): void {
    log.cursors.set(name, sequence);
    const w = this.#core.pipeline.side(32 + name.length * 3);
    w.u8(RecordType.cursor);
    w.u32(log.id);
    w.text(name);
    w.u64(sequence);
  }

  async read(
    log: EventLog,
    from: number,
    limits: { max: number; maxBytes: number },
  ): Promise<readonly LogEvent[]> {
    const out: LogEvent[] = [];
    let bytes = 0;
    let sequence = Math.max(from, log.index.first);
    while (out.length < limits.max && sequence <= log.committed) {
      const length = log.index.length(sequence);
      if (out.length > 0 && bytes + length > limits.maxBytes) break;
      const storedAt = log.index.storedAt(sequence);
      const position = log.index.position(sequence);
      const payload =
        this.#core.journal.peek(position, length) ?? (await this.#core.journal.read(position, length));
      out.push({
        channel: log.name,
        sequence,
        storedAt,
        message: new MessageView(payload, this.#core.translators),
      });
      bytes += length;
      // Retention may have moved on while the disk was read.
      sequence = Math.max(sequence + 1, log.index.first);
    }
    return out;
  }

  readLog(request: LogReadRequest): Promise<readonly LogEvent[]> {
    const log = this.#require(request.channel);
    return this.read(log, request.fromSequence, { max: request.max, maxBytes: request.maxBytes ?? Infinity });
  }

  #require(name: ChannelName): EventLog {
    const log = this.find(name);
    if (log === undefined) throw new BrokerError('not-found', `no log '${name}'`);
    return log;
  }

  sequenceAt(name: ChannelName, time: number): number {
    return this.#require(name).index.atTime(time);
  }

  setFanOut(name: ChannelName, targets: readonly FanOutTarget[]): void {
    this.#require(name).targets = targets;
  }

  stats(name: ChannelName): LogStats | undefined {
    const log = this.find(name);
    if (log === undefined) return undefined;
    return {
      channel: log.name,
      settings: log.settings,
      firstSequence: log.index.first,
      lastSequence: log.committed,
      events: log.committed + 1 - log.index.first,
      bytes: log.bytes,
      subscriptions: log.subscriptions.size,
    };
  }

  names(prefix: string): readonly ChannelName[] {
    return [...this.byName.values()]
      .map((log) => log.name)
      .filter((name) => name.startsWith(prefix))
      .sort();
  }

  /** Ends all reads: the broker is going away. */
  closeAll(): void {
    for (const log of this.byId.values())
      for (const subscription of [...log.subscriptions]) subscription.close();
  }
}
