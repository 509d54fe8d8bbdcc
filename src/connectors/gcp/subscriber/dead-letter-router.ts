import type { DeadLetterRouter } from '../../../core/queue/types.js';
import { GCP_PROTOCOL, messageFields } from '../message-mapping.js';
import { parseResourceName, topicChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import { decodeMessageFields, encodeMessageFields } from '../wire/message-fields.js';

/**
 * Where a message goes that was given back too often: to the log of the dead-letter topic, as a message of its own with the same
 * data, attributes and ordering key, and four attributes that say where it comes from. Throws when there is no such topic: the
 * message is kept then.
 */
export function deadLetterRouter({
  catalog,
  messageIds,
}: Pick<GcpServices, 'catalog' | 'messageIds'>): DeadLetterRouter {
  return (subscriptionId, letter) => {
    const info = catalog.subscription(subscriptionId);
    const policy = info?.resource.deadLetterPolicy;
    const topic =
      policy === undefined
        ? undefined
        : catalog.topic(parseResourceName(policy.deadLetterTopic, 'topics').id);
    if (info === undefined || topic === undefined) throw new Error('there is no dead-letter topic');
    const channel = topicChannel(topic.id);
    if (catalog.broker.logStats(channel) === undefined) throw new Error('the dead-letter topic has no log');
    const fields = decodeMessageFields(messageFields(letter.message, letter.now));
    const { project } = parseResourceName(info.resource.name, 'subscriptions');
    const attributes = new Map(fields.attributes);
    attributes.set('CloudPubSubDeadLetterSourceDeliveryCount', String(letter.receiveCount));
    attributes.set('CloudPubSubDeadLetterSourceSubscription', info.id);
    attributes.set('CloudPubSubDeadLetterSourceSubscriptionProject', project);
    attributes.set('CloudPubSubDeadLetterSourceTopicPublishTime', new Date(fields.publishTime).toISOString());
    const originBytes = encodeMessageFields({
      messageId: messageIds.next(),
      publishTime: letter.now,
      orderingKey: fields.orderingKey,
      attributes,
    });
    return [{ channel, toLog: true, originProtocol: GCP_PROTOCOL, originBytes }];
  };
}
