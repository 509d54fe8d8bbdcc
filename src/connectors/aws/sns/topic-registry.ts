import type { Broker } from '../../../core/broker-api.js';
import type { RegistryEntry } from '../../../core/registry/types.js';

export const TOPIC_KIND = 'aws.topic';
export const SUBSCRIPTION_KIND = 'aws.subscription';

/** What the registry keeps of a topic, under its name. */
export interface TopicRecord {
  /** Unix seconds. */
  readonly createdAt: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
}

/** What the registry keeps of a subscription, under `{topic}:{id}`. */
export interface SubscriptionRecord {
  readonly topic: string;
  readonly protocol: string;
  /** ARN of the queue. */
  readonly endpoint: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface Topic {
  readonly name: string;
  readonly record: TopicRecord;
  readonly version: number;
}

export interface Subscription {
  /** `{topic}:{id}`: the end of its ARN. */
  readonly key: string;
  readonly record: SubscriptionRecord;
  readonly version: number;
  readonly raw: boolean;
}

/** Topics and subscriptions: registry entries without channels, with an index from topic to subscriptions. */
export class TopicRegistry {
  readonly #broker: Broker;
  readonly #byTopic = new Map<string, Map<string, Subscription>>();
  #unwatch: (() => void) | undefined;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** Builds the index and follows the registry. */
  start(): void {
    if (this.#unwatch !== undefined) return;
    this.#unwatch = this.#broker.registry.watch(SUBSCRIPTION_KIND, (key, entry) => this.#seen(key, entry));
    for (const entry of this.#broker.registry.list(SUBSCRIPTION_KIND)) this.#seen(entry.key, entry);
  }

  stop(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#byTopic.clear();
  }

  find(name: string): Topic | undefined {
    const entry = this.#broker.registry.get<TopicRecord>(TOPIC_KIND, name);
    return entry === undefined ? undefined : { name, record: entry.value, version: entry.version };
  }

  /** All, by name. */
  list(): readonly string[] {
    return this.#broker.registry.list(TOPIC_KIND).map(({ key }) => key);
  }

  findSubscription(key: string): Subscription | undefined {
    return this.#byTopic.get(topicOfKey(key))?.get(key);
  }

  /** Those of one topic, in the order they came. */
  subscriptionsOf(topic: string): Iterable<Subscription> {
    return this.#byTopic.get(topic)?.values() ?? [];
  }

  /** All, by topic and id. */
  subscriptions(): readonly Subscription[] {
    return this.#broker.registry
      .list(SUBSCRIPTION_KIND)
      .map(({ key }) => this.findSubscription(key))
      .filter((subscription) => subscription !== undefined);
  }

  #seen(key: string, entry: RegistryEntry | undefined): void {
    const topic = topicOfKey(key);
    const known = this.#byTopic.get(topic);
    if (entry === undefined) {
      known?.delete(key);
      if (known?.size === 0) this.#byTopic.delete(topic);
      return;
    }
    const record = entry.value as SubscriptionRecord;
    const subscription: Subscription = {
      key,
      record,
      version: entry.version,
      raw: record.attributes['RawMessageDelivery'] === 'true',
    };
    if (known === undefined) this.#byTopic.set(topic, new Map([[key, subscription]]));
    else known.set(key, subscription);
  }
}

function topicOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf(':'));
}
