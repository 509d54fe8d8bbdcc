import type { ChannelName } from '../../core/channel-name.js';
import type { NeutralView, OutgoingMessage, StoredMessage } from '../../core/message.js';
import {
  decodeMessageFields,
  encodeMessageFields,
  encodePublishTime,
  messageFieldsLength,
  orderingKeyOf,
  writeMessageFields,
} from './wire/message-fields.js';
import type { AttributeView, PublishedMessage } from './wire/publish.js';

/**
 * A PubsubMessage as a broker message and back. The data is the body; everything else travels as origin bytes (an encoded
 * PubsubMessage without data), so that what one Pub/Sub client sent reaches another untouched. Other protocols see the
 * attributes as tags, and three reserved tags.
 */

/** Name the translator is registered under. */
export const GCP_PROTOCOL = 'gcp';

export const MESSAGE_ID_TAG = '_pubsub_message_id';
export const PUBLISH_TIME_TAG = '_pubsub_publish_time';
export const ORDERING_KEY_TAG = '_pubsub_ordering_key';
const RESERVED_TAGS: ReadonlySet<string> = new Set([MESSAGE_ID_TAG, PUBLISH_TIME_TAG, ORDERING_KEY_TAG]);
const RESERVED_PREFIX = Buffer.from('_pubsub_');

export interface PublishBatch {
  readonly channel: ChannelName;
  readonly messages: readonly PublishedMessage[];
  /** One a message. */
  readonly messageIds: readonly string[];
  /** Unix ms. */
  readonly publishTime: number;
}

/** The messages of one Publish, their origin bytes side by side in one buffer. */
export function outgoingMessages(batch: PublishBatch): readonly OutgoingMessage[] {
  const publishTime = encodePublishTime(batch.publishTime);
  const sizes = batch.messages.map((message, i) => {
    const rest = publishTime.length + attributeBytes(message.attributes);
    return messageFieldsLength(message.orderingKey.length, batch.messageIds[i]?.length ?? 0, rest);
  });
  const origins = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  return batch.messages.map(({ data, attributes, orderingKey }, i) => {
    const start = at;
    const messageId = batch.messageIds[i] ?? '';
    at = writeMessageFields(origins, start, {
      orderingKey,
      messageId,
      publishTime,
      attributes: attributes.length === 0 ? attributes : attributes.filter(isOwnAttribute),
    });
    return {
      channel: batch.channel,
      body: data,
      origin: { protocol: GCP_PROTOCOL, bytes: origins.subarray(start, at) },
    };
  });
}

/** The neutral reading of origin bytes. */
export function translateOrigin(origin: Uint8Array): NeutralView {
  const fields = decodeMessageFields(origin);
  const tags = new Map(fields.attributes);
  tags.set(MESSAGE_ID_TAG, fields.messageId);
  tags.set(PUBLISH_TIME_TAG, new Date(fields.publishTime).toISOString());
  if (fields.orderingKey !== '') tags.set(ORDERING_KEY_TAG, fields.orderingKey);
  return { id: fields.messageId, tags };
}

/** The PubsubMessage (without data) of a stored message, whoever sent it. */
export function messageFields(message: StoredMessage, enqueuedAt: number): Uint8Array {
  const { origin } = message;
  if (origin?.protocol === GCP_PROTOCOL) return origin.bytes;
  const { tags } = message;
  const stamped = Date.parse(tags.get(PUBLISH_TIME_TAG) ?? '');
  return encodeMessageFields({
    messageId: tags.get(MESSAGE_ID_TAG) ?? message.id,
    publishTime: Number.isNaN(stamped) ? enqueuedAt : stamped,
    orderingKey: tags.get(ORDERING_KEY_TAG) ?? '',
    attributes: new Map([...tags].filter(([key]) => !RESERVED_TAGS.has(key))),
  });
}

/** The ordering key of a message, or ''. */
export function messageOrderingKey(message: StoredMessage): string {
  const { origin } = message;
  if (origin?.protocol === GCP_PROTOCOL) return orderingKeyOf(origin.bytes);
  return message.tags.get(ORDERING_KEY_TAG) ?? '';
}

/** The attributes of a message as filters see them. */
export function messageAttributes(message: StoredMessage): ReadonlyMap<string, string> {
  const { origin } = message;
  return origin?.protocol === GCP_PROTOCOL ? decodeMessageFields(origin.bytes).attributes : message.tags;
}

function attributeBytes(attributes: readonly AttributeView[]): number {
  let bytes = 0;
  for (const attribute of attributes) if (isOwnAttribute(attribute)) bytes += attribute.field.length;
  return bytes;
}

/** The three reserved tags are the server's to set: a client's attributes of these names are dropped. */
function isOwnAttribute({ key }: AttributeView): boolean {
  if (key.length < RESERVED_PREFIX.length || key[0] !== RESERVED_PREFIX[0]) return true;
  return !RESERVED_TAGS.has(Buffer.from(key).toString());
}
