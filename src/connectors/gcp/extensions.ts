import type { SubscriptionInfo, TopicInfo } from './registry/records.js';
import type { Subscription, Topic } from './wire/gen/google/pubsub/v1/pubsub_pb.js';
import type { PublishedMessage } from './wire/publish.js';

/**
 * Where schemas, push and message transforms take part in the life of topics, subscriptions and messages. Each adds its steps
 * when the connector is put together; the operations run them in that order.
 */
export interface Extensions {
  readonly topicChecks: ResourceCheck<Topic>[];
  readonly subscriptionChecks: ResourceCheck<Subscription>[];
  /** Run by Publish on topics that have schema settings or message transforms, and on no other. */
  readonly publishSteps: PublishStep[];
  /** Run on what Pull, StreamingPull and push hand out of subscriptions that have message transforms, and of no other. */
  readonly deliverySteps: DeliveryStep[];
}

/**
 * Checks a resource that is about to be stored, after the connector's own checks. `before` is what is stored now; undefined
 * when it is being created. Throws what the call is answered with.
 */
export type ResourceCheck<T> = (resource: T, before: T | undefined) => void | Promise<void>;

/**
 * Checks or changes the messages of one Publish; throws to refuse them all. Undefined in the place of a message drops it: it
 * gets an id and is stored nowhere. The result has one place for each message.
 */
export type PublishStep = (
  topic: TopicInfo,
  messages: readonly (PublishedMessage | undefined)[],
) => readonly (PublishedMessage | undefined)[] | Promise<readonly (PublishedMessage | undefined)[]>;

/** A message as it is handed out: its body, and a PubsubMessage without data, encoded (see `wire/message-fields.ts`). */
export interface HandedMessage {
  readonly data: Uint8Array;
  readonly fields: Uint8Array;
}

/** 'drop' acknowledges the message instead of handing it out, 'refuse' gives it back as a nack does. */
export type DeliveryVerdict = HandedMessage | 'drop' | 'refuse';

export type DeliveryStep = (
  subscription: SubscriptionInfo,
  message: HandedMessage,
) => DeliveryVerdict | Promise<DeliveryVerdict>;

export function noExtensions(): Extensions {
  return { topicChecks: [], subscriptionChecks: [], publishSteps: [], deliverySteps: [] };
}

/** Runs checks one after the other. */
export async function runChecks<T>(
  checks: readonly ResourceCheck<T>[],
  resource: T,
  before: T | undefined,
): Promise<void> {
  for (const check of checks) await check(resource, before);
}
