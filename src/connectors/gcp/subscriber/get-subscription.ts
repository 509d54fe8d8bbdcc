import { parseResourceName, resourceName } from '../resource-names.js';
import type { SubscriptionInfo } from '../registry/records.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { GetSubscriptionRequest, Subscription, Topic } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Answers a subscription under the project that was asked for: ids are global. */
export function getSubscription({ catalog }: GcpServices): Operation<GetSubscriptionRequest, Subscription> {
  return (request) => {
    const info = catalog.requireSubscription(request.subscription);
    const { project } = parseResourceName(request.subscription, 'subscriptions');
    return shownSubscription({ catalog }, info, project);
  };
}

/** A subscription as it is shown under a project. */
export function shownSubscription(
  { catalog }: Pick<GcpServices, 'catalog'>,
  { id, record, resource }: SubscriptionInfo,
  project: string,
): Subscription {
  const named: Subscription = { ...resource, name: resourceName(project, 'subscriptions', id) };
  return withTopicRetention(named, catalog.topic(record.topicId)?.resource);
}

/** Shows how long the topic keeps messages for its subscriptions to look back, when it does. */
export function withTopicRetention(subscription: Subscription, topic: Topic | undefined): Subscription {
  const retention = topic?.messageRetentionDuration;
  return retention === undefined
    ? subscription
    : { ...subscription, topicMessageRetentionDuration: retention };
}
