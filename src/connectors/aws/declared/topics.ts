import { FIFO_SUFFIX, queueArn, topicArn } from '../names.js';
import { createTopic } from '../sns/create-topic-action.js';
import { setSubscriptionAttributes } from '../sns/set-subscription-attributes-action.js';
import { setTopicAttributes } from '../sns/set-topic-attributes-action.js';
import { subscribe } from '../sns/subscribe-action.js';
import type { Subscription } from '../sns/subscription.js';
import { readSubscriptionAttributes } from '../sns/subscription-attributes.js';
import { tagResource } from '../sns/tag-resource-action.js';
import { readTopicAttributes } from '../sns/topic-attributes.js';
import { declaring } from './declarer.js';
import type { Declarer } from './declarer.js';
import type { DeclaredSubscription, DeclaredTopic } from './schema.js';

/** Makes the topics that are missing and sets what differs from the file. Throws an Error that names the place. */
export async function declareTopics(declarer: Declarer, topics: readonly DeclaredTopic[]): Promise<void> {
  for (const [i, topic] of topics.entries()) await declaring(placeOf(i, topic), () => make(declarer, topic));
}

/**
 * Makes the subscriptions that are missing and sets what differs from the file: those to queues, or those to URLs, which
 * are asked to confirm and so need the listener. Throws an Error that names the place.
 */
export async function declareSubscriptions(
  declarer: Declarer,
  topics: readonly DeclaredTopic[],
  to: 'queue' | 'url',
): Promise<void> {
  for (const [i, topic] of topics.entries()) {
    for (const [k, subscription] of topic.subscriptions.entries()) {
      if (subscription[to] === undefined) continue;
      await declaring(`${placeOf(i, topic)}.subscriptions[${k}]`, () =>
        settle(declarer, topic, subscription),
      );
    }
  }
}

function placeOf(i: number, { name }: DeclaredTopic): string {
  return `connectors.aws.topics[${i}] (${name})`;
}

async function make(declarer: Declarer, topic: DeclaredTopic): Promise<void> {
  const { name, tags } = topic;
  const attributes = { ...topic.attributes };
  if (name.endsWith(FIFO_SUFFIX)) attributes['FifoTopic'] ??= 'true';
  const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  const known = declarer.services.topics.find(name);
  if (known === undefined) {
    await declarer.run(createTopic, { Name: name, Attributes: attributes, Tags });
    return;
  }
  const TopicArn = topicArn(declarer.services.config, name);
  const wanted = readTopicAttributes(new Map(Object.entries(attributes)));
  for (const [AttributeName, AttributeValue] of Object.entries(wanted)) {
    if (known.record.attributes[AttributeName] === AttributeValue) continue;
    await declarer.run(setTopicAttributes, { TopicArn, AttributeName, AttributeValue });
  }
  if (Object.entries(tags).some(([key, value]) => known.record.tags[key] !== value)) {
    await declarer.run(tagResource, { ResourceArn: TopicArn, Tags });
  }
}

async function settle(declarer: Declarer, topic: DeclaredTopic, asked: DeclaredSubscription): Promise<void> {
  const { config, topics } = declarer.services;
  const { queue, url = '' } = asked;
  const protocol = queue !== undefined ? 'sqs' : url.startsWith('https:') ? 'https' : 'http';
  const endpoint = queue !== undefined ? queueArn(config, queue) : url;
  const known = [...topics.subscriptionsOf(topic.name)].find(
    ({ record }) => record.protocol === protocol && record.endpoint === endpoint,
  );
  if (known !== undefined) {
    await update(declarer, known, asked);
    return;
  }
  await declarer.run(subscribe, {
    TopicArn: topicArn(config, topic.name),
    Protocol: protocol,
    Endpoint: endpoint,
    Attributes: asked.attributes,
  });
}

async function update(
  declarer: Declarer,
  { key, record }: Subscription,
  asked: DeclaredSubscription,
): Promise<void> {
  const { config, topics } = declarer.services;
  const { protocol, endpoint } = record;
  const topicFifo = topics.find(record.topic)?.fifo === true;
  const archived = topics.find(record.topic)?.archives === true;
  const now = declarer.services.clock.now();
  const given = new Map(Object.entries(asked.attributes));
  const wanted = readSubscriptionAttributes(given, { topicFifo, protocol, endpoint, archived, now });
  // The scope first: what a policy may say depends on it.
  const order = Object.entries(wanted).sort(
    ([a], [b]) => Number(b === 'FilterPolicyScope') - Number(a === 'FilterPolicyScope'),
  );
  for (const [AttributeName, AttributeValue] of order) {
    if (record.attributes[AttributeName] === AttributeValue) continue;
    const SubscriptionArn = topicArn(config, key);
    await declarer.run(setSubscriptionAttributes, { SubscriptionArn, AttributeName, AttributeValue });
  }
}
