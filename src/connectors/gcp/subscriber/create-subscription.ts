import { creationFault, resourceExists } from '../errors.js';
import { runChecks } from '../extensions.js';
import { keepLog } from '../publisher/create-topic.js';
import { SUBSCRIPTION_KIND, subscriptionRecord } from '../registry/records.js';
import { checkSubscription, queueSettings, withDefaults } from '../registry/subscription-rules.js';
import {
  checkNewSubscriptionId,
  parseResourceName,
  resourceName,
  subscriptionChannel,
} from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { Subscription } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { withTopicRetention } from './get-subscription.js';

/**
 * Creates a subscription and its queue. A queue of that name that exists already (by an alias, another protocol's) is used
 * as it is. Only what is published from now on reaches it. Without a name the server makes one.
 */
export function createSubscription(services: GcpServices): Operation<Subscription, Subscription> {
  const { broker, catalog, clock, config, extensions, ids } = services;
  return async (request) => {
    const name = request.name === '' ? madeName(request.topic, ids.uuid()) : request.name;
    const { id } = parseResourceName(name, 'subscriptions');
    checkNewSubscriptionId(name, id);
    checkSubscription(request);
    const topic = catalog.requireTopic(request.topic);
    const { deadLetterPolicy } = request;
    if (deadLetterPolicy !== undefined) catalog.requireTopic(deadLetterPolicy.deadLetterTopic);
    if (catalog.subscription(id) !== undefined) throw resourceExists(id);
    const subscription: Subscription = {
      ...withDefaults({ ...request, name }, config.defaultAckDeadlineSeconds),
      detached: false,
    };
    await runChecks(extensions.subscriptionChecks, subscription, undefined);
    const createdAt = catalog.births.of(SUBSCRIPTION_KIND, id, clock.now());
    const value = subscriptionRecord(subscription, { topicId: topic.id, createdAt });
    const created = broker.change([
      {
        do: 'create-queue',
        channel: subscriptionChannel(id),
        settings: queueSettings(id, subscription),
        ifMissing: true,
      },
      { do: 'put', kind: SUBSCRIPTION_KIND, key: id, value, expected: 0 },
    ]);
    await created.catch((caught: unknown) => {
      throw creationFault(caught, id);
    });
    await keepLog(services, topic.id);
    return withTopicRetention(subscription, topic.resource);
  };
}

function madeName(topic: string, uuid: string): string {
  const { project, id } = parseResourceName(topic, 'topics');
  return resourceName(project, 'subscriptions', `${id.slice(0, 200)}-${uuid}`);
}
