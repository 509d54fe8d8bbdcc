import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { FanOutTarget } from '../../../core/log/types.js';
import type { StoredMessage } from '../../../core/message.js';
import type { RegistryEntry } from '../../../core/registry/types.js';
import { compileFilter } from '../filter.js';
import { messageAttributes, messageOrderingKey } from '../message-mapping.js';
import {
  orderingKeySuffix,
  missingResource,
  parseResourceName,
  subscriptionChannel,
  topicChannel,
} from '../resource-names.js';
import { Births } from './births.js';
import {
  SUBSCRIPTION_KIND,
  subscriptionInfo,
  TOPIC_KIND,
  topicInfo,
  type SubscriptionInfo,
  type TopicInfo,
} from './records.js';

/**
 * The topics and subscriptions of the registry, decoded, and the fan-out that follows from them. Follows every committed
 * change, also another node's.
 */
export class Catalog {
  /** The broker itself, for what follows from an operation: what was asked for has been allowed by then. */
  readonly broker: Broker;
  readonly births = new Births();
  readonly #topics = new Map<string, TopicInfo>();
  readonly #subscriptions = new Map<string, SubscriptionInfo>();
  /** Subscription ids by topic id. */
  readonly #byTopic = new Map<string, Set<string>>();
  readonly #changed = new Set<(id: string, info: SubscriptionInfo | undefined) => void>();
  readonly #unwatch: (() => void)[] = [];

  constructor(broker: Broker) {
    this.broker = broker;
  }

  /** Restores everything, fan-out included, and follows changes from here on. */
  open(): void {
    const { registry } = this.broker;
    this.#unwatch.push(
      registry.watch(TOPIC_KIND, (id, entry) => this.#topicSeen(id, entry)),
      registry.watch(SUBSCRIPTION_KIND, (id, entry) => this.#subscriptionSeen(id, entry)),
    );
    for (const entry of registry.list(SUBSCRIPTION_KIND)) this.#remember(subscriptionInfo(entry));
    for (const entry of registry.list(TOPIC_KIND)) this.#topicSeen(entry.key, entry);
  }

  close(): void {
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  get topicCount(): number {
    return this.#topics.size;
  }

  get subscriptionCount(): number {
    return this.#subscriptions.size;
  }

  /** Messages of all subscriptions that are leased now. */
  leased(): number {
    let count = 0;
    for (const id of this.#subscriptions.keys()) {
      count += this.broker.queueStats(subscriptionChannel(id))?.inFlight ?? 0;
    }
    return count;
  }

  topic(id: string): TopicInfo | undefined {
    return this.#topics.get(id);
  }

  subscription(id: string): SubscriptionInfo | undefined {
    return this.#subscriptions.get(id);
  }

  /** The topic a full name stands for; throws `invalid-argument` or `not-found`. */
  requireTopic(name: string): TopicInfo {
    const { id } = parseResourceName(name, 'topics');
    const info = this.#topics.get(id);
    if (info === undefined) throw missingResource(name, 'topics', id);
    return info;
  }

  /** The subscription a full name stands for; throws `invalid-argument` or `not-found`. */
  requireSubscription(name: string): SubscriptionInfo {
    const { id } = parseResourceName(name, 'subscriptions');
    const info = this.#subscriptions.get(id);
    if (info === undefined) throw missingResource(name, 'subscriptions', id);
    return info;
  }

  subscriptions(): Iterable<SubscriptionInfo> {
    return this.#subscriptions.values();
  }

  subscriptionsOf(topicId: string): readonly SubscriptionInfo[] {
    const infos: SubscriptionInfo[] = [];
    for (const id of this.#byTopic.get(topicId) ?? []) {
      const info = this.#subscriptions.get(id);
      if (info !== undefined) infos.push(info);
    }
    return infos;
  }

  /** `seen` is called after each change of a subscription; undefined = removed. */
  onSubscription(seen: (id: string, info: SubscriptionInfo | undefined) => void): void {
    this.#changed.add(seen);
  }

  #topicSeen(id: string, entry: RegistryEntry | undefined): void {
    if (entry === undefined) {
      this.#topics.delete(id);
      // The log may live on for its readers; nobody is subscribed to it any more.
      this.#fanOut(id, []);
      return;
    }
    this.#topics.set(id, topicInfo(entry));
    this.#setFanOut(id);
  }

  #subscriptionSeen(id: string, entry: RegistryEntry | undefined): void {
    const before = this.#subscriptions.get(id);
    if (before !== undefined) this.#forget(before);
    const after = entry === undefined ? undefined : subscriptionInfo(entry);
    if (after !== undefined) this.#remember(after);
    for (const topicId of new Set([before?.record.topicId, after?.record.topicId])) {
      if (topicId !== undefined) this.#setFanOut(topicId);
    }
    for (const seen of this.#changed) seen(id, after);
  }

  #remember(info: SubscriptionInfo): void {
    this.#subscriptions.set(info.id, info);
    const { topicId } = info.record;
    const ids = this.#byTopic.get(topicId) ?? new Set();
    this.#byTopic.set(topicId, ids.add(info.id));
  }

  #forget(info: SubscriptionInfo): void {
    this.#subscriptions.delete(info.id);
    const ids = this.#byTopic.get(info.record.topicId);
    ids?.delete(info.id);
    if (ids?.size === 0) this.#byTopic.delete(info.record.topicId);
  }

  #setFanOut(topicId: string): void {
    if (!this.#topics.has(topicId)) return;
    const infos = this.subscriptionsOf(topicId);
    this.#fanOut(
      topicId,
      infos.filter(({ resource }) => !resource.detached).map((info) => this.#target(info)),
    );
  }

  #target(info: SubscriptionInfo): FanOutTarget {
    const queue = subscriptionChannel(info.id);
    const route = routeOf(this.broker, info);
    return route === undefined ? { queue } : { queue, route };
  }

  #fanOut(topicId: string, targets: readonly FanOutTarget[]): void {
    const channel = topicChannel(topicId);
    // Another protocol may have deleted the log; then there is nothing to fan out, and publishing says so.
    if (this.broker.logStats(channel) !== undefined) this.broker.setFanOut(channel, targets);
  }
}

type Route = NonNullable<FanOutTarget['route']>;

/**
 * Where a subscription's copies go: the channel of their ordering key, with message ordering, or undefined for what its filter
 * leaves out. No route: all of them go to its queue.
 */
export function routeOf(broker: Broker, { id, resource }: SubscriptionInfo): Route | undefined {
  const queue = subscriptionChannel(id);
  const { enableMessageOrdering, filter } = resource;
  if (filter === '' && !enableMessageOrdering) return undefined;
  const place = enableMessageOrdering ? orderedPlace(broker, queue) : () => queue;
  if (filter === '') return place;
  const matches = compileFilter(filter);
  return (message) => (matches(messageAttributes(message)) ? place(message) : undefined);
}

function orderedPlace(broker: Broker, queue: ChannelName): (message: StoredMessage) => ChannelName {
  // The messages of one request have one key: the last one's channel is nearly always the next one's.
  let lastKey = '';
  let lastChannel = queue;
  return (message) => {
    const key = messageOrderingKey(message);
    // The queue behind an alias is another protocol's, which knows no sub-channels of ours.
    if (key === '' || broker.resolve(queue) !== queue) return queue;
    if (key !== lastKey) {
      lastKey = key;
      lastChannel = (queue + orderingKeySuffix(key)) as ChannelName;
    }
    return lastChannel;
  };
}
