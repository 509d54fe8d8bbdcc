import type { OutgoingMessage } from '../../../core/message.js';
import type { BrokerError } from '../../../core/errors.js';
import { queueNameOfArn, topicArn } from '../names.js';
import type { Call } from '../operation.js';
import { ATTRIBUTES_MAX } from '../sqs/message-attributes.js';
import type { Queue } from '../sqs/queue-registry.js';
import { md5Hex } from '../wire/md5.js';
import { encodeAttributes } from '../wire/message-attributes.js';
import { encodeOrigin } from '../wire/origin.js';
import { notificationText } from './notification.js';
import type { Publication } from './publication.js';
import type { Subscription } from './topic-registry.js';

/**
 * Sends publications to every subscribed queue as one broker call. Subscriptions of queues that are not there, and
 * messages a queue cannot take, are passed over, as they are on AWS without a dead-letter queue. Throws when the broker
 * is not available: then nothing is lost by publishing again.
 */
export async function fanOut(call: Call, topic: string, publications: readonly Publication[]): Promise<void> {
  const messages: OutgoingMessage[] = [];
  const { counters } = call.services;
  for (const subscription of call.services.topics.subscriptionsOf(topic)) {
    const queue = call.services.queues.find(queueNameOfArn(subscription.record.endpoint) ?? '');
    for (const publication of publications) {
      const message = queue === undefined ? undefined : copyFor(call, { subscription, queue, publication });
      if (message === undefined) counters.fanOutDropped++;
      else messages.push(message);
    }
  }
  if (messages.length === 0) return;
  const outcomes = await call.services.broker.send(messages);
  for (const outcome of outcomes) {
    if (outcome.ok) continue;
    if (isPassing(outcome.error)) throw outcome.error;
    counters.fanOutDropped++;
  }
}

function isPassing({ kind }: BrokerError): boolean {
  return kind === 'unavailable' || kind === 'draining' || kind === 'internal';
}

interface Copy {
  readonly subscription: Subscription;
  readonly queue: Queue;
  readonly publication: Publication;
}

/** The message one subscription gets; undefined when its queue cannot take it. */
function copyFor(call: Call, { subscription, queue, publication }: Copy): OutgoingMessage | undefined {
  const { config, clock, ids } = call.services;
  const { raw, record, key } = subscription;
  const { attributes } = publication;
  if (raw && attributes.length > ATTRIBUTES_MAX) return undefined;
  const now = clock.now();
  const text = raw
    ? publication.message
    : notificationText({
        ...publication,
        topicArn: topicArn(config, record.topic),
        timestamp: now,
        unsubscribeUrl: `${call.origin}/?Action=Unsubscribe&SubscriptionArn=${topicArn(config, key)}`,
      });
  const body = Buffer.from(text, 'utf8');
  if (body.length > queue.messageBytesMax) return undefined;
  const canonical = raw && attributes.length > 0 ? encodeAttributes(attributes) : undefined;
  const id = ids.uuid();
  const origin = encodeOrigin({
    messageId: id,
    bodyMd5: md5Hex(body),
    sentAt: now,
    senderId: call.senderId,
    groupId: publication.groupId,
    dedupId: undefined,
    traceHeader: undefined,
    topicArn: raw ? topicArn(config, record.topic) : undefined,
    subject: raw ? publication.subject : undefined,
    attributes: canonical,
    attributesMd5: canonical === undefined ? undefined : md5Hex(canonical),
  });
  return {
    channel: queue.channel,
    body,
    id,
    clientId: call.senderId,
    origin: { protocol: 'aws', bytes: origin },
    policy: queue.delayMs === 0 ? undefined : { delayMs: queue.delayMs },
  };
}
