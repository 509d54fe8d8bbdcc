import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { Delivery } from '../../../core/queue/types.js';
import type { Clock } from '../../../base/clock.js';
import type { BrokerError } from '../../../core/errors.js';
import type { GcpConfig } from '../config.js';
import { detachedFault, notPullable, resourceNotFound } from '../errors.js';
import type { Catalog } from '../registry/catalog.js';
import type { SubscriptionInfo } from '../registry/records.js';
import { isPush } from '../registry/subscription-rules.js';
import { subscriptionChannel } from '../resource-names.js';
import { ackIdSeed } from '../wire/ack-id.js';
import { encodeSubscriptionProperties } from '../wire/received-messages.js';
import { HeldDeliveries } from './held-deliveries.js';
import { RecentAcks } from './recent-acks.js';

/** A stream of a subscription, as the subscription sees it. */
export interface SubscriptionStream {
  /** Ends it: the subscription went away, or the server does. */
  end(reason: BrokerError | undefined): void;
  /** Asks for more messages if there is room. */
  topUp(): void;
}

/** What the connector keeps in memory of one subscription while it lives. */
export class LiveSubscription {
  readonly id: string;
  /** Its own name; the channel may be another one's, by an alias. */
  readonly name: ChannelName;
  readonly ackIdSeed: number;
  readonly held = new HeldDeliveries();
  readonly streams = new Set<SubscriptionStream>();
  readonly recentAcks = new RecentAcks();
  readonly #broker: Broker;
  readonly #inflightMax: number;
  /** Leases that no stream holds (of Pull calls), as of the last look; -1 = not looked since something changed. */
  #otherLeases = -1;
  info: SubscriptionInfo;
  /** Unix ms of its last use; 0 = not since the start. */
  #usedAt = 0;

  constructor(broker: Broker, info: SubscriptionInfo, inflightMax: number) {
    this.id = info.id;
    this.name = subscriptionChannel(info.id);
    this.ackIdSeed = ackIdSeed(`${info.id}\n${info.record.createdAt}`);
    this.info = info;
    this.#broker = broker;
    this.#inflightMax = inflightMax;
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
    return this.#broker.resolve(this.name);
  }

  /** The `subscription_properties` of every response. */
  properties(): Uint8Array {
    const { enableExactlyOnceDelivery, enableMessageOrdering } = this.info.resource;
    return encodeSubscriptionProperties(enableExactlyOnceDelivery, enableMessageOrdering);
  }

  /** How many more messages may be leased before the subscription's bound is reached. */
  headroom(): number {
    if (this.#otherLeases < 0) {
      const leased = this.#broker.queueStats(this.name)?.inFlight ?? 0;
      this.#otherLeases = Math.max(leased - this.held.count, 0);
    }
    return Math.max(this.#inflightMax - this.#otherLeases - this.held.count, 0);
  }

  /** What one stream may hold, so that all together stay within the subscription's bound. */
  streamShare(): number {
    return Math.max(Math.floor(this.#inflightMax / Math.max(this.streams.size, 1)), 1);
  }

  /** Leases were taken or ended that no stream holds. */
  leasesChanged(): void {
    this.#otherLeases = -1;
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

  constructor(parts: { broker: Broker; clock: Clock; catalog: Catalog; config: GcpConfig }) {
    this.#broker = parts.broker;
    this.#clock = parts.clock;
    this.#catalog = parts.catalog;
    this.#config = parts.config;
    this.#catalog.onSubscription((id, info) => this.#changed(id, info));
  }

  /** The subscription a full name stands for; throws `invalid-argument` or `not-found`. */
  require(name: string): LiveSubscription {
    const info = this.#catalog.requireSubscription(name);
    const known = this.#live.get(info.id);
    if (known !== undefined) return known;
    const live = new LiveSubscription(this.#broker, info, this.#config.maxInflightPerSubscription);
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

  /** Gives back room of expired leases and lets streams that waited for it go on. */
  sweep(): void {
    const now = this.#clock.now();
    for (const live of this.#live.values()) {
      live.held.expire(now);
      if (live.streams.size === 0) continue;
      live.leasesChanged();
      for (const stream of live.streams) stream.topUp();
    }
  }

  /** Ends every stream and every wait, as a server does that goes away. */
  endWaits(): void {
    for (const pull of this.waitingPulls) pull.abort();
    for (const { streams } of this.#live.values()) for (const stream of [...streams]) stream.end(undefined);
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
    for (const stream of [...live.streams]) stream.end(resourceNotFound(id));
  }
}

/** Why a subscription cannot be pulled from, if so. */
function pullFault({ resource }: SubscriptionInfo): BrokerError | undefined {
  if (resource.detached) return detachedFault();
  return isPush(resource) ? notPullable() : undefined;
}
