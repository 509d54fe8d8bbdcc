import type { Clock } from '../base/clock.js';
import { SystemIds, type IdSource } from '../base/ids.js';
import type { Log } from '../base/log.js';
import { Scheduler, Timeouts } from '../base/scheduler.js';
import type { Alias, Broker } from './broker-api.js';
import type { ChannelName } from './channel-name.js';
import type { CoreContext, CoreLimits } from './core-context.js';
import { DEFAULT_CORE_LIMITS } from './core-context.js';
import { BrokerError } from './errors.js';
import { LiveService } from './live/live-service.js';
import type { LiveTraffic } from './live/types.js';
import { LogService } from './log/log-service.js';
import type {
  AppendResult,
  CopiesLeft,
  FanOutTarget,
  LogEvent,
  LogReadRequest,
  LogStats,
  LogSubscription,
  RewindRequest,
  RewindResult,
  SubscribeRequest,
} from './log/types.js';
import type { OutgoingMessage, Translator } from './message.js';
import { readCheckpoint } from './partition/checkpoint.js';
import { Housekeeping } from './partition/housekeeping.js';
import { LiveExtents } from './partition/live-extents.js';
import { Pipeline } from './partition/pipeline.js';
import { Recovery } from './partition/recovery.js';
import { visitRecords } from './partition/records.js';
import type { Journal } from './ports/journal.js';
import { NO_PEERS, type LivePeers } from './ports/live-peers.js';
import { notOwner, UNCONTESTED, type Tenure } from './ports/tenure.js';
import { ChannelIds } from './queue/channels.js';
import type { Family } from './queue/family.js';
import { QueueService } from './queue/queue-service.js';
import { QueueStore } from './queue/queue-store.js';
import type {
  Consumer,
  ConsumeRequest,
  DeadLetterRouter,
  Delivery,
  LeaseToken,
  PeekedMessage,
  PurgeResult,
  PurgeScope,
  QueueStats,
  ReceiveRequest,
  SendOptions,
  SendOutcome,
  SettleRequest,
  SettleResult,
} from './queue/types.js';
import { Changes } from './registry/changes.js';
import { OwnedRegistry } from './registry/owned-registry.js';
import { RegistryStore } from './registry/registry-store.js';
import type { Change, RegistryView } from './registry/types.js';

export interface BrokerOptions {
  /** Opened, not started: the broker replays it, starts it and closes it. */
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<CoreLimits>;
  /** Default: the system's. */
  readonly ids?: IdSource;
  /** The other nodes of live traffic. Default: there are none. */
  readonly peers?: LivePeers;
  /** While it is not held nothing is answered from memory. Default: nobody else has the journal. */
  readonly tenure?: Tenure;
  /** Asked at the close: whether a last checkpoint is written. Default: yes. No, when somebody waits who has the state already. */
  readonly lastCheckpoint?: () => boolean;
}

/** What an alias takes in memory. */
const ALIAS_BYTES = 300;

/** Figures of the whole broker, read at scrape time. */
export interface BrokerFigures {
  readonly queues: number;
  readonly subChannels: number;
  readonly logs: number;
  readonly messages: number;
  readonly memoryBytes: number;
  /** Bytes that messages and events refer to: what several share counts once for each. */
  readonly liveBytes: number;
  readonly checkpoints: number;
  readonly cleanedBytes: number;
  /** Why sends are refused now; undefined when they are not. */
  readonly shortage: string | undefined;
}

/** A broker with its life: connectors see `Broker` only. */
export interface OpenBroker extends Broker {
  figures(): BrokerFigures;
  /** Refuses new messages and ends waits; what is under way goes on. */
  drain(): void;
  /** Writes a checkpoint now. */
  checkpoint(): Promise<void>;
  /** Drains, commits, writes a last checkpoint and closes the journal. Idempotent. */
  close(): Promise<void>;
}

/** Recovers the state from the journal and starts serving it. */
export async function openBroker(options: BrokerOptions): Promise<OpenBroker> {
  const { journal } = options;
  const broker = new LocalBroker(options);
  try {
    await broker.recover();
  } catch (caught) {
    await journal.close();
    throw caught;
  }
  return broker;
}

/** How soon what the journal refused, and must not be lost, is written again. */
const WRITE_AGAIN_MS = 100;

/**
 * The broker over one partition that this process owns. Every method that changes something, or whose answer somebody acts upon, asks
 * first whether this process still owns it: an owner that was paused beyond its lease must not confirm what its successor does not know.
 */
class LocalBroker implements OpenBroker {
  readonly #core: CoreContext;
  readonly #queues: QueueService;
  readonly #logs: LogService;
  readonly #registry = new RegistryStore();
  readonly registry: RegistryView;
  readonly #changes: Changes;
  readonly #live: LiveService;
  #housekeeping: Housekeeping | undefined;
  readonly #lastCheckpoint: () => boolean;
  #closing: Promise<void> | undefined;
  #writesAgainSoon = false;

  constructor(options: BrokerOptions) {
    this.#lastCheckpoint = options.lastCheckpoint ?? (() => true);
    const scheduler = new Scheduler(options.clock);
    const timeouts = new Timeouts();
    this.#core = {
      clock: options.clock,
      log: options.log,
      journal: options.journal,
      tenure: options.tenure ?? UNCONTESTED,
      pipeline: new Pipeline(options.journal, () => {
        this.#afterCommit();
      }),
      queues: new QueueStore(new LiveExtents(options.journal.extentBytes)),
      scheduler,
      timeouts,
      translators: new Map(),
      routers: new Map(),
      limits: { ...DEFAULT_CORE_LIMITS, ...options.limits },
    };
    this.registry = new OwnedRegistry(this.#registry, this.#core.tenure);
    scheduler.add(timeouts);
    this.#queues = new QueueService(this.#core, new ChannelIds());
    this.#logs = new LogService(this.#core, this.#queues);
    this.#changes = new Changes(this.#core, {
      queues: this.#queues,
      logs: this.#logs,
      registry: this.#registry,
    });
    this.#queues.admission.otherBytes = () =>
      this.#registry.memoryBytes + this.#queues.channels.aliases.size * ALIAS_BYTES;
    this.#live = new LiveService({
      clock: options.clock,
      log: options.log,
      ids: options.ids ?? new SystemIds(),
      scheduler,
      timeouts,
      peers: options.peers ?? NO_PEERS,
      resolve: (name) => this.resolve(name),
    });
  }

  get live(): LiveTraffic {
    return this.#live;
  }

  #afterCommit(): void {
    this.#queues.handOut.serveDirty();
    this.#housekeeping?.look();
    if (!this.#core.pipeline.writesAgain) return;
    const { pipeline, tenure, journal } = this.#core;
    // Another node may serve by now, or nobody until a restart: no one here may be left waiting for what this broker cannot say.
    if (!tenure.held) pipeline.refuseWaiters(notOwner(), false);
    else if (journal.broken)
      pipeline.refuseWaiters(new BrokerError('unavailable', 'the store failed'), false);
    this.#writeAgainSoon();
  }

  /** Somebody may wait for what is to be written again, and nothing else may come that would take it along. */
  #writeAgainSoon(): void {
    if (this.#writesAgainSoon) return;
    this.#writesAgainSoon = true;
    const { timeouts, clock, pipeline, scheduler } = this.#core;
    timeouts.set(clock.now() + WRITE_AGAIN_MS, () => {
      this.#writesAgainSoon = false;
      pipeline.tryAgain();
    });
    scheduler.poke();
  }

  async recover(): Promise<void> {
    const { journal, clock, log } = this.#core;
    const state = { core: this.#core, queues: this.#queues, logs: this.#logs, registry: this.#registry };
    const began = clock.now();
    const checkpoint = await journal.checkpoint();
    const from = checkpoint?.position ?? 0;
    if (checkpoint !== undefined) readCheckpoint(state, checkpoint.data);
    const replayed = clock.now();
    const recovery = new Recovery(state);
    await journal.replay(from, (position, payload) => {
      visitRecords(position, payload, recovery);
    });
    recovery.finish();
    if (journal.position > 0) {
      // Where the time of a slow start went.
      log.info('the store was read', {
        messages: this.#core.queues.table.used,
        checkpointBytes: checkpoint?.data.length ?? 0,
        checkpointMs: replayed - began,
        replayedBytes: journal.position - from,
        replayMs: clock.now() - replayed,
      });
    }
    journal.start(this.#core.pipeline);
    const housekeeping = new Housekeeping(state, this.#changes, from);
    this.#housekeeping = housekeeping;
    this.#logs.rewinds.housekeepingIdle = () => housekeeping.idle();
    this.#queues.returnEndless();
    for (const log of this.#logs.byId.values()) this.#logs.retain(log);
    // In a later turn: what is too much leaves its queue then, and routers of dead letters register once the broker is open.
    this.#core.timeouts.set(this.#core.clock.now(), () => {
      this.#queues.handOut.serveDirty();
    });
    this.#core.scheduler.poke();
  }

  send(messages: readonly OutgoingMessage[], options: SendOptions = {}): Promise<readonly SendOutcome[]> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#queues.send(messages, options);
  }

  remembers(channel: ChannelName, dedupId: string): boolean {
    if (!this.#core.tenure.held) throw notOwner();
    return this.#queues.remembers(channel, dedupId);
  }

  receive(request: ReceiveRequest): Promise<readonly Delivery[]> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#queues.receive(request);
  }

  consume(request: ConsumeRequest): Consumer {
    if (!this.#core.tenure.held) throw notOwner();
    return this.#queues.consume(request);
  }

  settle(request: SettleRequest): Promise<SettleResult> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#queues.settle(request);
  }

  holds(token: LeaseToken): boolean {
    if (!this.#core.tenure.held) throw notOwner();
    return this.#queues.holds(token);
  }

  peek(channel: ChannelName, max: number): Promise<readonly PeekedMessage[]> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#queues.peek(channel, max);
  }

  purge(channel: ChannelName, scope: PurgeScope): Promise<PurgeResult> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#queues.purge(channel, scope);
  }

  lettersInto(channel: ChannelName): Promise<void> | undefined {
    return this.#queues.lettersInto(channel);
  }

  queueStats(channel: ChannelName): QueueStats | undefined {
    return this.#queues.stats(channel);
  }

  queues(prefix: string): readonly ChannelName[] {
    return this.#queues.names(prefix);
  }

  append(
    events: readonly OutgoingMessage[],
    options: { readonly createMissing?: boolean } = {},
  ): Promise<readonly AppendResult[]> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#logs.append(events, options);
  }

  subscribe(request: SubscribeRequest): LogSubscription {
    if (!this.#core.tenure.held) throw notOwner();
    return this.#logs.subscribe(request);
  }

  readLog(request: LogReadRequest): Promise<readonly LogEvent[]> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#logs.readLog(request);
  }

  sequenceAt(channel: ChannelName, time: number): number {
    if (!this.#core.tenure.held) throw notOwner();
    return this.#logs.sequenceAt(channel, time);
  }

  logStats(channel: ChannelName): LogStats | undefined {
    return this.#logs.stats(channel);
  }

  logs(prefix: string): readonly ChannelName[] {
    return this.#logs.names(prefix);
  }

  setFanOut(channel: ChannelName, targets: readonly FanOutTarget[]): void {
    this.#logs.setFanOut(channel, targets);
  }

  copiesLeft(queue: ChannelName, log: ChannelName): CopiesLeft {
    if (!this.#core.tenure.held) throw notOwner();
    return this.#logs.rewinds.copiesLeft(queue, log);
  }

  rewind(request: RewindRequest): Promise<RewindResult> {
    if (!this.#core.tenure.held) return Promise.reject(notOwner());
    return this.#logs.rewinds.rewind(request);
  }

  async change(changes: readonly Change[]): Promise<readonly number[]> {
    if (!this.#core.tenure.held) throw notOwner();
    const done = await this.#changes.change(changes);
    this.#queues.handOut.serveDirty();
    return done;
  }

  resolve(name: ChannelName): ChannelName {
    return this.#queues.channels.resolve(name);
  }

  baseOf(name: ChannelName): ChannelName {
    const real = this.#queues.channels.resolve(name);
    return this.#core.queues.directory.familyOf(real)?.base.name ?? real;
  }

  aliases(): readonly Alias[] {
    return [...this.#queues.channels.aliases].map(([alias, channel]) => ({
      alias: alias as ChannelName,
      channel,
    }));
  }

  registerTranslator(protocol: string, translator: Translator): void {
    this.#core.translators.set(protocol, translator);
  }

  registerRouter(scheme: string, router: DeadLetterRouter): void {
    this.#core.routers.set(scheme, router);
  }

  figures(): BrokerFigures {
    const { queues } = this.#core;
    const families = this.#families().size;
    return {
      queues: families,
      subChannels: queues.byId.size - families,
      logs: this.#logs.byId.size,
      messages: queues.table.used,
      memoryBytes: this.#queues.admission.memoryBytes,
      liveBytes: queues.live.total,
      checkpoints: this.#housekeeping?.checkpoints ?? 0,
      cleanedBytes: this.#housekeeping?.cleanedBytes ?? 0,
      shortage: this.#queues.admission.shortage(),
    };
  }

  #families(): Set<Family> {
    const families = new Set<Family>();
    for (const queue of this.#core.queues.byId.values()) families.add(queue.family);
    return families;
  }

  drain(): void {
    this.#queues.admission.draining = true;
    this.#core.pipeline.refuseWaiters(new BrokerError('draining', 'the broker is shutting down'), true);
    this.#queues.handOut.endWaits(this.#families());
    this.#queues.lettersUnderWay.endWaits();
    this.#logs.closeAll();
    this.#live.close();
  }

  checkpoint(): Promise<void> {
    return this.#housekeeping?.run() ?? Promise.resolve();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.drain();
    this.#core.scheduler.stop();
    this.#core.pipeline.flushSide();
    await this.#core.journal.flush().catch(() => undefined);
    await this.#housekeeping?.close(this.#lastCheckpoint());
    this.#core.pipeline.close();
    await this.#core.journal.close();
  }
}
