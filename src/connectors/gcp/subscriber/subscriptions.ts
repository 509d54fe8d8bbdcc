import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { Delivery, LeaseToken } from '../../../core/queue/types.js';
import type { Clock } from '../../../base/clock.js';
import { Scheduler, Timeouts } from '../../../base/scheduler.js';
import type { BrokerError } from '../../../core/errors.js';
import { GCP_LIMITS, type GcpConfig } from '../config.js';
import { detachedFault, notPullable, resourceNotFound } from '../errors.js';
import type { Catalog } from '../registry/catalog.js';
import type { SubscriptionInfo } from '../registry/records.js';
import { isPush } from '../registry/subscription-rules.js';
import { subscriptionChannel } from '../resource-names.js';
import { ackIdSeed } from '../wire/ack-id.js';
import { encodeSubscriptionProperties } from '../wire/received-messages.js';
import { HeldDeliveries, type CreditHolder } from './held-deliveries.js';
import { RecentAcks } from './recent-acks.js';

/** A stream of a subscription, as the subscription sees it. */
export interface SubscriptionStream {
  /** Ends it: the subscription went away, or the server does. */
  end(reason: BrokerError | undefined): void;
  /** Asks for more messages if there is room. */
  topUp(): void;
}

/** Calls back at a time (Unix ms). The function returned forgets it; it must not be called after that time. */
type CallAt = (time: number, run: () => void) => () => void;

interface LiveParts {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly inflightMax: number;
  readonly callAt: CallAt;
}

/** What the connector keeps in memory of one subscription while it lives. Idle streams of it cost no work at all. */
export class LiveSubscription {
  readonly id: string;
  /** Its own name; the channel may be another one's, by an alias. */
  readonly name: ChannelName;
  readonly ackIdSeed: number;
  readonly held = new HeldDeliveries((nextExpiry) => this.#lookBy(nextExpiry));
  readonly streams = new Set<SubscriptionStream>();
  readonly recentAcks = new RecentAcks();
  readonly #parts: LiveParts;
  /** Streams that the subscription's bound keeps from what they have room for. */
  readonly #short = new Set<SubscriptionStream>();
  /** The least headroom that one of these saw. */
  #shortAt = Infinity;
  /** The streams' shares may have grown. */
  #sharesGrew = false;
  /** The next look, in Unix ms; Infinity = none is needed. */
  #lookAt = Infinity;
  #forgetLook: () => void = () => undefined;
  #closed = false;
  info: SubscriptionInfo;
  /** Unix ms of its last use; 0 = not since the start. */
  #usedAt = 0;

  constructor(info: SubscriptionInfo, parts: LiveParts) {
    this.id = info.id;
    this.name = subscriptionChannel(info.id);
    this.ackIdSeed = ackIdSeed(`${info.id}\n${info.record.createdAt}`);
    this.info = info;
    this.#parts = parts;
  }

  /** Whether acknowledgements are certain: each is confirmed, and one that came too late is refused. */
  get exactlyOnce(): boolean {
    return this.info.resource.enableExactlyOnceDelivery;
  }

  /** Somebody uses it now: its expiration starts again. */
  used(now: number): void {
    this.#usedAt = now;
  }

  /** Unix ms of its last use. Streams use it all the time. */
  usedAt(now: number): number {
    return this.streams.size > 0 ? now : this.#usedAt;
  }

  /** Throws `precondition` when it is not there to be pulled from. */
  requirePullable(): void {
    const fault = pullFault(this.info);
    if (fault !== undefined) throw fault;
  }

  /** The channel behind its name. */
  channel(): ChannelName {
    return this.#parts.broker.resolve(this.name);
  }

  /** The `subscription_properties` of every response. */
  properties(): Uint8Array {
    const { enableExactlyOnceDelivery, enableMessageOrdering } = this.info.resource;
    return encodeSubscriptionProperties(enableExactlyOnceDelivery, enableMessageOrdering);
  }

  /** How many more messages may be leased before the subscription's bound is reached. */
  headroom(): number {
    const { broker, inflightMax } = this.#parts;
    return Math.max(inflightMax - (broker.queueStats(this.name)?.inFlight ?? 0), 0);
  }

  /** What one stream may hold, so that all together stay within the subscription's bound. */
  streamShare(): number {
    return Math.max(Math.floor(this.#parts.inflightMax / Math.max(this.streams.size, 1)), 1);
  }

  /** The stream has room for more than this headroom: it is asked again when there is more. */
  runsShort(stream: SubscriptionStream, headroom: number): void {
    this.#short.add(stream);
    this.#shortAt = Math.min(this.#shortAt, headroom);
    this.#lookBy(this.#parts.clock.now());
  }

  /** The stream is gone: others may hold more. Its deliveries live on without it; gives those that its client cannot have seen. */
  leave(stream: SubscriptionStream & CreditHolder): readonly LeaseToken[] {
    this.streams.delete(stream);
    this.#short.delete(stream);
    const now = this.#parts.clock.now();
    const unseen = this.held.forget(this.channel(), stream, now - GCP_LIMITS.confirmMs);
    if (this.streams.size > 0) {
      this.#sharesGrew = true;
      this.#lookBy(now);
    }
    return unseen;
  }

  /** It is there no more. */
  close(): void {
    this.#closed = true;
    if (this.#lookAt < Infinity) this.#forgetLook();
    this.#lookAt = Infinity;
  }

  /** Has a look at leases and streams at `time` (Unix ms) or soon after; what comes close together is one look. */
  #lookBy(time: number): void {
    const at = (Math.floor(time / GCP_LIMITS.lookMs) + 1) * GCP_LIMITS.lookMs;
    if (at >= this.#lookAt || this.#closed) return;
    if (this.#lookAt < Infinity) this.#forgetLook();
    this.#lookAt = at;
    this.#forgetLook = this.#parts.callAt(at, () => {
      this.#lookAt = Infinity;
      this.#look();
    });
  }

  /** Gives back room of expired leases and lets streams that wait for it go on. */
  #look(): void {
    this.held.expire(this.#parts.clock.now());
    if (this.#sharesGrew) {
      this.#sharesGrew = false;
      for (const stream of this.streams) stream.topUp();
    }
    if (this.#short.size === 0) return;
    if (this.headroom() <= this.#shortAt) {
      this.#lookBy(this.#parts.clock.now());
      return;
    }
    const short = [...this.#short];
    this.#short.clear();
    this.#shortAt = Infinity;
    for (const stream of short) stream.topUp();
  }

  /** What an ack id says of the place of a delivery: the part of its channel behind the subscription's. */
  suffixOf(channel: ChannelName, delivery: Delivery): string {
    return delivery.channel === channel ? '' : delivery.channel.slice(channel.length);
  }
}

/** All subscriptions in use. */
export class Subscriptions {
  /** Pull calls that wait for a message. */
  readonly waitingPulls = new Set<AbortController>();
  readonly #live = new Map<string, LiveSubscription>();
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #catalog: Catalog;
  readonly #config: GcpConfig;
  readonly #scheduler: Scheduler;
  readonly #timeouts = new Timeouts();

  constructor(parts: { broker: Broker; clock: Clock; catalog: Catalog; config: GcpConfig }) {
    this.#broker = parts.broker;
    this.#clock = parts.clock;
    this.#catalog = parts.catalog;
    this.#config = parts.config;
    this.#scheduler = new Scheduler(parts.clock);
    this.#scheduler.add(this.#timeouts);
    this.#catalog.onSubscription((id, info) => this.#changed(id, info));
  }

  /** The subscription a full name stands for; throws `invalid-argument` or `not-found`. */
  require(name: string): LiveSubscription {
    const info = this.#catalog.requireSubscription(name);
    const known = this.#live.get(info.id);
    if (known !== undefined) return known;
    const live = new LiveSubscription(info, {
      broker: this.#broker,
      clock: this.#clock,
      inflightMax: this.#config.maxInflightPerSubscription,
      callAt: (time, run) => this.#callAt(time, run),
    });
    this.#live.set(info.id, live);
    return live;
  }

  /** When a subscription was last used since the start, in Unix ms; 0 = not. */
  usedAt(id: string, now: number): number {
    return this.#live.get(id)?.usedAt(now) ?? 0;
  }

  get streamCount(): number {
    let count = 0;
    for (const { streams } of this.#live.values()) count += streams.size;
    return count;
  }

  /** Messages held by streams. */
  get heldCount(): number {
    let count = 0;
    for (const { held } of this.#live.values()) count += held.count;
    return count;
  }

  /** Nothing is looked after any more. */
  stop(): void {
    this.#scheduler.stop();
  }

  /** Ends every stream and every wait, as a server does that goes away. */
  endWaits(): void {
    for (const pull of this.waitingPulls) pull.abort();
    for (const { streams } of this.#live.values()) for (const stream of [...streams]) stream.end(undefined);
  }

  #callAt(time: number, run: () => void): () => void {
    const timeout = this.#timeouts.set(time, run);
    this.#scheduler.poke();
    return () => this.#timeouts.cancel(timeout);
  }

  #changed(id: string, info: SubscriptionInfo | undefined): void {
    const live = this.#live.get(id);
    if (live === undefined) return;
    if (info !== undefined && info.record.createdAt === live.info.record.createdAt) {
      live.info = info;
      const fault = pullFault(info);
      if (fault !== undefined) for (const stream of [...live.streams]) stream.end(fault);
      return;
    }
    this.#live.delete(id);
    live.close();
    for (const stream of [...live.streams]) stream.end(resourceNotFound(id));
  }
}

/** Why a subscription cannot be pulled from, if so. */
function pullFault({ resource }: SubscriptionInfo): BrokerError | undefined {
  if (resource.detached) return detachedFault();
  return isPush(resource) ? notPullable() : undefined;
}
