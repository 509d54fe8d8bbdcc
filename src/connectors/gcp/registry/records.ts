import { fromJson, toJson, type JsonValue } from '@bufbuild/protobuf';
import type { RegistryEntry } from '../../../core/registry/types.js';
import {
  SnapshotSchema,
  SubscriptionSchema,
  TopicSchema,
  type Snapshot,
  type Subscription,
  type Topic,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Registry kinds of the connector; keys are resource ids. */
export const TOPIC_KIND = 'gcp.topic';
export const SUBSCRIPTION_KIND = 'gcp.subscription';
export const SNAPSHOT_KIND = 'gcp.snapshot';
/** What does not fit into a snapshot's own entry; keys are `{id}/{number}`. */
export const SNAPSHOT_PART_KIND = 'gcp.snapshot-part';
/** When a subscription was last used; keys are its id. */
export const ACTIVITY_KIND = 'gcp.activity';
/** IAM policies; keys are `{collection}/{id}` of their resource. */
export const POLICY_KIND = 'gcp.policy';

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

/** A snapshot: which events of its topic were unacknowledged when it was made. */
export interface SnapshotRecord {
  /** Unix ms. */
  readonly createdAt: number;
  readonly topicId: string;
  /** Unix ms; tells its topic from a later one of the same name. */
  readonly topicCreatedAt: number;
  /** Sequence of the topic's last event then: whatever comes after it is unacknowledged. */
  readonly upTo: number;
  /** Entries of SNAPSHOT_PART_KIND that hold the rest of `unacked`. */
  readonly parts: number;
  /** The unacknowledged events up to there, encoded (see `registry/unacked.ts`), or the first part of it. */
  readonly unacked: string;
  readonly resource: JsonValue;
}

export interface SnapshotInfo {
  readonly id: string;
  readonly version: number;
  readonly record: SnapshotRecord;
  readonly resource: Snapshot;
}

export function snapshotResource(resource: Snapshot): JsonValue {
  return toJson(SnapshotSchema, resource);
}

export function snapshotInfo(entry: RegistryEntry): SnapshotInfo {
  const record = entry.value as SnapshotRecord;
  const resource = read(SnapshotSchema, record.resource);
  return { id: entry.key, version: entry.version, record, resource };
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
  more: Omit<SubscriptionRecord, 'resource'>,
): SubscriptionRecord {
  return { ...more, resource: toJson(SubscriptionSchema, resource) };
}

/** A subscription's record with another resource. */
export function withResource(record: SubscriptionRecord, resource: Subscription): SubscriptionRecord {
  return { ...record, resource: toJson(SubscriptionSchema, resource) };
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
