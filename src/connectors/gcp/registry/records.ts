import { fromJson, toJson, type JsonValue } from '@bufbuild/protobuf';
import type { RegistryEntry } from '../../../core/registry/types.js';
import {
  SubscriptionSchema,
  TopicSchema,
  type Subscription,
  type Topic,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Registry kinds of the connector; keys are resource ids. */
export const TOPIC_KIND = 'gcp.topic';
export const SUBSCRIPTION_KIND = 'gcp.subscription';

/** A topic as the registry keeps it: the resource in protobuf's JSON, as Get answers it. */
export interface TopicRecord {
  /** Unix ms; tells a topic from a later one of the same name. */
  readonly createdAt: number;
  readonly resource: JsonValue;
}

export interface SubscriptionRecord {
  /** Unix ms. */
  readonly createdAt: number;
  /** Id of its topic; '' when that was deleted. */
  readonly topicId: string;
  readonly resource: JsonValue;
}

export interface TopicInfo {
  readonly id: string;
  readonly version: number;
  readonly record: TopicRecord;
  readonly resource: Topic;
}

export interface SubscriptionInfo {
  readonly id: string;
  readonly version: number;
  readonly record: SubscriptionRecord;
  readonly resource: Subscription;
}

export function topicRecord(resource: Topic, createdAt: number): TopicRecord {
  return { createdAt, resource: toJson(TopicSchema, resource) };
}

export function subscriptionRecord(
  resource: Subscription,
  topicId: string,
  createdAt: number,
): SubscriptionRecord {
  return { createdAt, topicId, resource: toJson(SubscriptionSchema, resource) };
}

export function topicInfo(entry: RegistryEntry): TopicInfo {
  const record = entry.value as TopicRecord;
  return { id: entry.key, version: entry.version, record, resource: read(TopicSchema, record.resource) };
}

export function subscriptionInfo(entry: RegistryEntry): SubscriptionInfo {
  const record = entry.value as SubscriptionRecord;
  const resource = read(SubscriptionSchema, record.resource);
  return { id: entry.key, version: entry.version, record, resource };
}

// Fields that a newer version wrote are passed over.
const read: typeof fromJson = (schema, json) => fromJson(schema, json, { ignoreUnknownFields: true });
