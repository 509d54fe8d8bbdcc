import { GCP_LIMITS } from '../config.js';
import { invalidArgument } from '../errors.js';
import { outgoingMessages } from '../message-mapping.js';
import type { TopicInfo } from '../registry/records.js';
import { topicChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import { encodePublishResponse, type PublishedMessage, type PublishRequestView } from '../wire/publish.js';

/**
 * Stores a batch in the topic's log and, in the same entry, in the queues of its subscriptions: all or nothing. Answers
 * when it is durable.
 */
export function publish(services: GcpServices): Operation<PublishRequestView, Buffer> {
  const { broker, catalog, clock, config, counters, messageIds: ids } = services;
  return async (request) => {
    const topic = catalog.requireTopic(request.topic);
    checkRequest(request, config.maxMessageBytes);
    if (hasPublishSteps(topic)) return publishStepwise(services, topic, request.messages);
    const { id } = topic;
    const { messages } = request;
    const messageIds = messages.map(() => ids.next());
    await broker.append(
      outgoingMessages({ channel: topicChannel(id), messages, messageIds, publishTime: clock.now() }),
    );
    counters.published += messages.length;
    return encodePublishResponse(messageIds);
  };
}

function hasPublishSteps({ resource }: TopicInfo): boolean {
  return resource.schemaSettings !== undefined || resource.messageTransforms.length > 0;
}

/** Publishes what schemas and transforms make of the messages. One that they drop has an id all the same. */
async function publishStepwise(
  services: GcpServices,
  topic: TopicInfo,
  published: readonly PublishedMessage[],
): Promise<Buffer> {
  const { broker, clock, counters, extensions, messageIds: ids } = services;
  let messages: readonly (PublishedMessage | undefined)[] = published;
  for (const step of extensions.publishSteps) messages = await step(topic, messages);
  const messageIds = published.map(() => ids.next());
  const kept = messages.flatMap((message, i) => (message === undefined ? [] : [{ message, i }]));
  await broker.append(
    outgoingMessages({
      channel: topicChannel(topic.id),
      messages: kept.map(({ message }) => message),
      messageIds: kept.map(({ i }) => messageIds[i] ?? ''),
      publishTime: clock.now(),
    }),
  );
  counters.published += kept.length;
  return encodePublishResponse(messageIds);
}

function checkRequest(request: PublishRequestView, bytesMax: number): void {
  const { messages, bytes } = request;
  const { publishMessagesMax } = GCP_LIMITS;
  if (messages.length === 0) throw badCount(0, 'small', 1);
  if (messages.length > publishMessagesMax) throw badCount(messages.length, 'large', publishMessagesMax);
  if (bytes > bytesMax) {
    throw invalidArgument(`Request payload size exceeds the limit: ${bytesMax} bytes.`);
  }
  const key = messages[0]?.orderingKey ?? new Uint8Array(0);
  for (const message of messages) {
    checkMessage(message);
    if (message.orderingKey.length !== key.length || Buffer.compare(message.orderingKey, key) !== 0) {
      throw invalidArgument(
        'In a single publish request, all messages must have no ordering key or they must all have the same ordering key.',
      );
    }
  }
}

function badCount(count: number, fault: 'small' | 'large', bound: number): Error {
  const edge = fault === 'small' ? 'minimum' : 'maximum';
  return invalidArgument(
    `The value for message_count is too ${fault}. You passed ${count} in the request, but the ${edge} value is ${bound}.`,
  );
}

function checkMessage({ data, attributes, orderingKey }: PublishedMessage): void {
  if (data.length === 0 && attributes.length === 0) {
    throw invalidArgument(
      'One or more messages in the publish request is empty. Each message must contain either non-empty data, or at least one attribute.',
    );
  }
  if (orderingKey.length > GCP_LIMITS.orderingKeyBytesMax) {
    throw invalidArgument(
      `The ordering key is too long: at most ${GCP_LIMITS.orderingKeyBytesMax} bytes are allowed.`,
    );
  }
  if (attributes.length === 0) return;
  if (attributes.length > GCP_LIMITS.attributesMax) {
    throw invalidArgument(
      `A message may have at most ${GCP_LIMITS.attributesMax} attributes, not ${attributes.length}.`,
    );
  }
  for (const { key, value } of attributes) {
    if (key.length === 0 || key.length > GCP_LIMITS.attributeKeyBytesMax) {
      throw invalidArgument(
        `An attribute key must have 1 to ${GCP_LIMITS.attributeKeyBytesMax} bytes, not ${key.length}.`,
      );
    }
    if (value.length > GCP_LIMITS.attributeValueBytesMax) {
      throw invalidArgument(
        `An attribute value may have at most ${GCP_LIMITS.attributeValueBytesMax} bytes, not ${value.length}.`,
      );
    }
    if (isReserved(key)) throw invalidArgument('An attribute key must not begin with "goog".');
  }
}

const RESERVED = Buffer.from('goog');
// Google's own clients send tracing context under this prefix.
const CLIENT_PREFIX = Buffer.from('googclient_');

function isReserved(key: Uint8Array): boolean {
  return beginsWith(key, RESERVED) && !beginsWith(key, CLIENT_PREFIX);
}

function beginsWith(key: Uint8Array, prefix: Uint8Array): boolean {
  return key[0] === prefix[0] && Buffer.compare(key.subarray(0, prefix.length), prefix) === 0;
}
