import type { Change } from '../../../core/registry/types.js';
import { invalidArgument } from '../errors.js';
import { runChecks } from '../extensions.js';
import { masked } from '../field-mask.js';
import { keepLog } from '../publisher/create-topic.js';
import { SUBSCRIPTION_KIND, withResource, type SubscriptionInfo } from '../registry/records.js';
import { checkSubscription, queueSettings, withDefaults } from '../registry/subscription-rules.js';
import { parseResourceName, resourceName, subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  SubscriptionSchema,
  type Subscription,
  type UpdateSubscriptionRequest,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { withTopicRetention } from './get-subscription.js';

const RULE = {
  request: 'UpdateSubscriptionRequest',
  mutable: new Set([
    'push_config',
    'bigquery_config',
    'cloud_storage_config',
    'bigtable_config',
    'ack_deadline_seconds',
    'retain_acked_messages',
    'message_retention_duration',
    'labels',
    'expiration_policy',
    'dead_letter_policy',
    'retry_policy',
    'enable_exactly_once_delivery',
    'message_transforms',
  ]),
};

/** Changes the fields that the mask names; all of them or none. A field that the request does not have goes to its default. */
export function updateSubscription(
  services: GcpServices,
): Operation<UpdateSubscriptionRequest, Subscription> {
  const { catalog } = services;
  return async ({ subscription: patch, updateMask }) => {
    if (patch === undefined) {
      throw invalidArgument('The UpdateSubscriptionRequest must have a subscription.');
    }
    const info = catalog.requireSubscription(patch.name);
    const changed = masked(SubscriptionSchema, { current: info.resource, patch }, updateMask, RULE);
    const stored = await storeSubscription(services, info, changed);
    const { project } = parseResourceName(patch.name, 'subscriptions');
    const named: Subscription = { ...stored, name: resourceName(project, 'subscriptions', info.id) };
    return withTopicRetention(named, catalog.topic(info.record.topicId)?.resource);
  };
}

/** Checks and stores a subscription in place of `info`, with what follows for its queue. */
export async function storeSubscription(
  services: GcpServices,
  info: SubscriptionInfo,
  changed: Subscription,
): Promise<Subscription> {
  const { catalog, config, extensions } = services;
  const { broker } = catalog;
  const { id, version, record, resource } = info;
  checkSubscription(changed);
  const letters = changed.deadLetterPolicy?.deadLetterTopic;
  // The name of a topic that is gone stays as it is.
  if (letters !== undefined && letters !== resource.deadLetterPolicy?.deadLetterTopic)
    catalog.requireTopic(letters);
  const subscription: Subscription = {
    ...withDefaults(changed, config.defaultAckDeadlineSeconds),
    detached: resource.detached,
  };
  await runChecks(extensions.subscriptionChecks, subscription, resource);
  const value = withResource(record, subscription);
  const changes: Change[] = [{ do: 'put', kind: SUBSCRIPTION_KIND, key: id, value, expected: version }];
  const channel = subscriptionChannel(id);
  // The queue behind an alias is another protocol's, and keeps its settings.
  if (broker.resolve(channel) === channel && broker.queueStats(channel) !== undefined) {
    changes.push({ do: 'update-queue', channel, settings: queueSettings(id, subscription) });
  }
  await broker.change(changes);
  await keepLog(services, record.topicId);
  return subscription;
}
