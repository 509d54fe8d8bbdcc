import type { Broker } from '../../../core/broker-api.js';
import type { RegistryEntry } from '../../../core/registry/types.js';
import { FIFO_SUFFIX } from '../names.js';
import { archivedMs } from './archive.js';
import { readSubscription } from './subscription.js';
import type { Subscription, SubscriptionRecord } from './subscription.js';

export const TOPIC_KIND = 'aws.topic';
export const SUBSCRIPTION_KIND = 'aws.subscription';

/** What the registry keeps of a topic, under its name. */
export interface TopicRecord {
  /** Unix seconds. */
  readonly createdAt: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  /** JSON text; kept and given back. */
  readonly dataProtectionPolicy?: string | undefined;
  /** Unix ms since when it archives; absent: it does not. */
  readonly archivedSince?: number | undefined;
}

/** A topic with what publishing needs read out of its attributes. */
export interface Topic {
  readonly name: string;
  readonly record: TopicRecord;
  readonly version: number;
  readonly fifo: boolean;
  readonly contentBasedDedup: boolean;
  readonly dedupPerGroup: boolean;
  /** What is published is kept in its archive. */
  readonly archives: boolean;
}

/** Told of subscriptions as they come, change (`subscription` is the new state) and go (undefined). */
export type SubscriptionListener = (key: string, subscription: Subscription | undefined) => void;

/** Topics and subscriptions: registry entries, with an index from topic to subscriptions and their filters compiled. */
export class TopicRegistry {
  readonly #broker: Broker;
  readonly #byTopic = new Map<string, Map<string, Subscription>>();
  /** Read-out forms by name, good for as long as the registry holds the same value. */
  readonly #read = new Map<string, Topic>();
  /** Subscriptions with a filter policy. */
  filterCount = 0;
  /** Names by whether the topic is FIFO. */
  readonly #names = { standard: new Set<string>(), fifo: new Set<string>() };
  #unwatch: (() => void) | undefined;
  #listener: SubscriptionListener | undefined;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** Builds the index and follows the registry. */
  start(): void {
    if (this.#unwatch !== undefined) return;
    const { registry } = this.#broker;
    const unwatch = [
      registry.watch(SUBSCRIPTION_KIND, (key, entry) => this.#seen(key, entry)),
      registry.watch(TOPIC_KIND, (name, entry) => this.#count(name, entry !== undefined)),
    ];
    this.#unwatch = () => unwatch.forEach((stop) => stop());
    for (const entry of registry.list(SUBSCRIPTION_KIND)) this.#seen(entry.key, entry);
    for (const { key } of registry.list(TOPIC_KIND)) this.#count(key, true);
  }

  stop(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#listener = undefined;
    this.#byTopic.clear();
    this.#read.clear();
    this.#names.standard.clear();
    this.#names.fifo.clear();
    this.filterCount = 0;
  }

  /** Tells `listener` of every subscription there is, and from then on of every change. One listener. */
  follow(listener: SubscriptionListener): void {
    this.#listener = listener;
    for (const subscription of this.subscriptions()) listener(subscription.key, subscription);
  }

  find(name: string): Topic | undefined {
    const entry = this.#broker.registry.get<TopicRecord>(TOPIC_KIND, name);
    if (entry === undefined) {
      this.#read.delete(name);
      return undefined;
    }
    const known = this.#read.get(name);
    if (known !== undefined && known.record === entry.value) return known;
    const topic = readTopic(name, entry.value, entry.version);
    this.#read.set(name, topic);
    return topic;
  }

  /** All, by name. */
  list(): readonly string[] {
    return this.#broker.registry.list(TOPIC_KIND).map(({ key }) => key);
  }

  topicCount(fifo: boolean): number {
    return this.#namesOf(fifo).size;
  }

  findSubscription(key: string): Subscription | undefined {
    return this.#byTopic.get(topicOfKey(key))?.get(key);
  }

  /** Those of one topic, in the order they came. */
  subscriptionsOf(topic: string): Iterable<Subscription> {
    return this.#byTopic.get(topic)?.values() ?? [];
  }

  subscriptionCount(topic: string): number {
    return this.#byTopic.get(topic)?.size ?? 0;
  }

  /** All, by topic and id. */
  subscriptions(): readonly Subscription[] {
    return this.#broker.registry
      .list(SUBSCRIPTION_KIND)
      .map(({ key }) => this.findSubscription(key))
      .filter((subscription) => subscription !== undefined);
  }

  #namesOf(fifo: boolean): Set<string> {
    return fifo ? this.#names.fifo : this.#names.standard;
  }

  #count(name: string, isThere: boolean): void {
    const names = this.#namesOf(name.endsWith(FIFO_SUFFIX));
    if (isThere) names.add(name);
    else names.delete(name);
  }

  #seen(key: string, entry: RegistryEntry | undefined): void {
    const topic = topicOfKey(key);
    const known = this.#byTopic.get(topic);
    if (known?.get(key)?.filter !== undefined) this.filterCount--;
    if (entry === undefined) {
      known?.delete(key);
      if (known?.size === 0) this.#byTopic.delete(topic);
      this.#listener?.(key, undefined);
      return;
    }
    const subscription = readSubscription(key, entry.value as SubscriptionRecord, entry.version);
    if (subscription.filter !== undefined) this.filterCount++;
    if (known === undefined) this.#byTopic.set(topic, new Map([[key, subscription]]));
    else known.set(key, subscription);
    this.#listener?.(key, subscription);
  }
}

function readTopic(name: string, record: TopicRecord, version: number): Topic {
  const { attributes } = record;
  return {
    name,
    record,
    version,
    fifo: attributes['FifoTopic'] === 'true',
    contentBasedDedup: attributes['ContentBasedDeduplication'] === 'true',
    dedupPerGroup: attributes['FifoThroughputScope'] === 'MessageGroup',
    archives: archivedMs(attributes) !== undefined,
  };
}

function topicOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf(':'));
}
