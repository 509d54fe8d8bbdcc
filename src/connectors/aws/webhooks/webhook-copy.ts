import type { ChannelName } from '../../../core/channel-name.js';
import type { OutgoingMessage, StoredMessage } from '../../../core/message.js';
import type { AwsConfig } from '../config.js';
import { topicArn } from '../names.js';
import type { Content } from '../sns/publication.js';
import { decodeAttributes, encodeAttributes } from '../wire/message-attributes.js';
import { md5Hex } from '../wire/md5.js';
import { decodeOrigin, encodeOrigin } from '../wire/origin.js';

/** A published message as it waits to be posted: the bare text, and all else beside it. */
export function webhookCopy(
  channel: ChannelName,
  config: AwsConfig,
  topic: string,
  content: Content,
): OutgoingMessage {
  const { attributes, messageId, senderId } = content;
  const body = Buffer.from(content.text, 'utf8');
  const canonical = attributes.length > 0 ? encodeAttributes(attributes) : undefined;
  const origin = encodeOrigin({
    messageId,
    bodyMd5: md5Hex(body),
    sentAt: content.timestamp,
    senderId,
    groupId: content.groupId,
    dedupId: undefined,
    traceHeader: content.traceHeader,
    topicArn: topicArn(config, topic),
    subject: content.subject,
    attributes: canonical,
    attributesMd5: canonical === undefined ? undefined : md5Hex(canonical),
  });
  return { channel, body, id: messageId, clientId: senderId, origin: { protocol: 'aws', bytes: origin } };
}

/** Reads `webhookCopy` back; undefined for a message of anybody else. */
export function contentOf(message: StoredMessage): Content | undefined {
  const origin = message.origin?.protocol === 'aws' ? decodeOrigin(message.origin.bytes) : undefined;
  if (origin === undefined) return undefined;
  const { body } = message;
  return {
    messageId: origin.messageId,
    timestamp: origin.sentAt,
    subject: origin.subject,
    text: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'),
    attributes: origin.attributes === undefined ? [] : decodeAttributes(Buffer.from(origin.attributes)),
    senderId: origin.senderId,
    groupId: origin.groupId,
    dedupId: undefined,
    traceHeader: origin.traceHeader,
    sequenceNumber: undefined,
  };
}
