import type { ChannelName } from './channel-name.js';
import type { LiveTraffic } from './live/types.js';
import type { OutgoingMessage, Translator } from './message.js';
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
import type { Change, RegistryView } from './registry/types.js';

/** A name that is another name's channel. */
export interface Alias {
  readonly alias: ChannelName;
  readonly channel: ChannelName;
}

/**
 * What connectors know of the broker. Channel names may be aliases everywhere; results carry the real channel.
 * Methods reject with BrokerError: `not-found` for a missing channel, `invalid-argument`, `unavailable` when space or
 * memory is short (sends only) and `draining` at shutdown.
 */
export interface Broker {
  // Queues ---------------------------------------------------------------------------------------------------
  /** Stores a batch as one atomic entry; resolves when it is durable. Outcomes stand at their message's place. */
  send(messages: readonly OutgoingMessage[], options?: SendOptions): Promise<readonly SendOutcome[]>;
  receive(request: ReceiveRequest): Promise<readonly Delivery[]>;
  /** Throws `not-found`, `forbidden` (exclusive). */
  consume(request: ConsumeRequest): Consumer;
  settle(request: SettleRequest): Promise<SettleResult>;
  /** Whether the queue's dedup window knows the id now: a send with it would be a duplicate. */
  remembers(channel: ChannelName, dedupId: string): boolean;
  /** Whether the token owns its message now. */
  holds(token: LeaseToken): boolean;
  /** Ready messages from the front, without touching them. */
  peek(channel: ChannelName, max: number): Promise<readonly PeekedMessage[]>;
  /** Removes everything in the scope, however deep, as one operation. */
  purge(channel: ChannelName, scope: PurgeScope): Promise<PurgeResult>;
  /**
   * Resolves when the dead letters that are on their way into the queue now are there: those of settlements, sends and lives that
   * ended before. Also when that takes too long or fails. Undefined, mostly: there are none.
   */
  lettersInto(channel: ChannelName): Promise<void> | undefined;
  queueStats(channel: ChannelName): QueueStats | undefined;
  /** Queues (no sub-channels) whose name begins with `prefix`, by name. */
  queues(prefix: string): readonly ChannelName[];

  // Logs -----------------------------------------------------------------------------------------------------
  /** Appends a batch to logs and, in the same entry, to their fan-out targets; all or nothing, resolves when durable. */
  append(
    events: readonly OutgoingMessage[],
    options?: { readonly createMissing?: boolean },
  ): Promise<readonly AppendResult[]>;
  subscribe(request: SubscribeRequest): LogSubscription;
  readLog(request: LogReadRequest): Promise<readonly LogEvent[]>;
  /** Sequence of the first event stored at or after `time`; last + 1 when there is none. */
  sequenceAt(channel: ChannelName, time: number): number;
  logStats(channel: ChannelName): LogStats | undefined;
  logs(prefix: string): readonly ChannelName[];
  /** Replaces a log's fan-out targets. */
  setFanOut(channel: ChannelName, targets: readonly FanOutTarget[]): void;
  /** Which events of a log a queue (sub-channels included) still holds its copies of. Throws `not-found`. */
  copiesLeft(queue: ChannelName, log: ChannelName): CopiesLeft;
  /**
   * Sets a queue back to events of a log: in one entry everything it holds goes, leases included, and copies of what it is to
   * hold come in the order of the log. Copies that arrive meanwhile stay. Resolves when durable. Throws `not-found`, `limit`.
   */
  rewind(request: RewindRequest): Promise<RewindResult>;

  // Live events and requests ---------------------------------------------------------------------------------
  readonly live: LiveTraffic;

  // Registry and names ---------------------------------------------------------------------------------------
  readonly registry: RegistryView;
  /** Applies all changes or none, in one entry; resolves when durable, visible to every later call. Returns put versions at their place, else 0. */
  change(changes: readonly Change[]): Promise<readonly number[]>;
  /** The channel behind a name: itself when it is no alias. */
  resolve(name: ChannelName): ChannelName;
  /** The same, and a sub-channel's name becomes the one of the queue it belongs to. */
  baseOf(name: ChannelName): ChannelName;
  aliases(): readonly Alias[];

  // What connectors bring -------------------------------------------------------------------------------------
  registerTranslator(protocol: string, translator: Translator): void;
  registerRouter(scheme: string, router: DeadLetterRouter): void;
}
