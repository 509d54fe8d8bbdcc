import type { MessageAttribute } from '../wire/message-attributes.js';
import type { Content } from './publication.js';

/** A signature and where its certificate is. */
export interface Signed {
  /** `1` (SHA1withRSA) or `2` (SHA256withRSA). */
  readonly version: string;
  /** Base64. */
  readonly signature: string;
  readonly certificateUrl: string;
}

/** The parts of a message's document that are the same for all its subscriptions. */
interface SharedParts {
  readonly head: Buffer;
  readonly tail: Buffer;
}

/** Made once for a message, however many subscriptions get it. */
const sharedParts = new WeakMap<Content, SharedParts>();

/** The `Notification` document in AWS's order and layout, in UTF-8; what is not set is absent. */
export function notificationBytes(
  content: Content,
  place: {
    readonly topicArn: string;
    /** Of `unsubscribeField`. */
    readonly unsubscribe: Buffer;
    /** Absent for FIFO topics, as on AWS, and where it is turned off. */
    readonly signed: Signed | undefined;
  },
): Buffer {
  let parts = sharedParts.get(content);
  if (parts === undefined) {
    parts = { head: Buffer.from(headOf(content, place.topicArn)), tail: Buffer.from(tailOf(content)) };
    sharedParts.set(content, parts);
  }
  const { head, tail } = parts;
  const { signed, unsubscribe } = place;
  if (signed !== undefined) {
    const signature = Buffer.from(`${signatureFields(signed).join(',\n')},\n`);
    return Buffer.concat([head, signature, unsubscribe, tail]);
  }
  const out = Buffer.allocUnsafe(head.length + unsubscribe.length + tail.length);
  out.set(head, 0);
  out.set(unsubscribe, head.length);
  out.set(tail, head.length + unsubscribe.length);
  return out;
}

/** The field of a document that is a subscription's own, in UTF-8. */
export function unsubscribeField(url: string): Buffer {
  return Buffer.from(field('UnsubscribeURL', url));
}

function headOf(content: Content, topicArn: string): string {
  const { messageId, subject, text, timestamp, sequenceNumber, replayed } = content;
  const lines = [field('Type', 'Notification'), field('MessageId', messageId)];
  if (sequenceNumber !== undefined) lines.push(field('SequenceNumber', sequenceNumber));
  lines.push(field('TopicArn', topicArn));
  if (subject !== undefined) lines.push(field('Subject', subject));
  lines.push(field('Message', text), field('Timestamp', isoTime(timestamp)));
  if (replayed === true) lines.push(field('Replayed', 'true'));
  return `{\n${lines.join(',\n')},\n`;
}

function tailOf({ attributes }: Content): string {
  if (attributes.length === 0) return '\n}';
  const entries = attributes.map(
    (attribute) => `    ${JSON.stringify(attribute.name)} : ${attributeText(attribute)}`,
  );
  return `,\n  "MessageAttributes" : {\n${entries.join(',\n')}\n  }\n}`;
}

/** A request to confirm that a subscription begins, or that it ended. */
export interface Confirmation {
  readonly type: 'SubscriptionConfirmation' | 'UnsubscribeConfirmation';
  readonly messageId: string;
  readonly token: string;
  readonly topicArn: string;
  readonly message: string;
  readonly subscribeUrl: string;
  /** Unix ms. */
  readonly timestamp: number;
}

/** The document of a confirmation in AWS's order and layout. */
export function confirmationText(confirmation: Confirmation, signed: Signed): string {
  const lines = [
    field('Type', confirmation.type),
    field('MessageId', confirmation.messageId),
    field('Token', confirmation.token),
    field('TopicArn', confirmation.topicArn),
    field('Message', confirmation.message),
    field('SubscribeURL', confirmation.subscribeUrl),
    field('Timestamp', isoTime(confirmation.timestamp)),
    ...signatureFields(signed),
  ];
  return `{\n${lines.join(',\n')}\n}`;
}

/** What is signed of a notification: keys in byte order, each with its value, a line each. */
export function notificationToSign(content: Content, topicArn: string): string {
  const { text, messageId, subject, timestamp } = content;
  return (
    `Message\n${text}\nMessageId\n${messageId}\n` +
    (subject === undefined ? '' : `Subject\n${subject}\n`) +
    `Timestamp\n${isoTime(timestamp)}\nTopicArn\n${topicArn}\nType\nNotification\n`
  );
}

/** What is signed of a confirmation. */
export function confirmationToSign(confirmation: Confirmation): string {
  const { message, messageId, subscribeUrl, timestamp, token, topicArn, type } = confirmation;
  return (
    `Message\n${message}\nMessageId\n${messageId}\nSubscribeURL\n${subscribeUrl}\n` +
    `Timestamp\n${isoTime(timestamp)}\nToken\n${token}\nTopicArn\n${topicArn}\nType\n${type}\n`
  );
}

function signatureFields({ version, signature, certificateUrl }: Signed): readonly string[] {
  return [
    field('SignatureVersion', version),
    field('Signature', signature),
    field('SigningCertURL', certificateUrl),
  ];
}

let lastMs = Number.NaN;
let lastIso = '';

/** What is published in one batch, and often more, comes in the same millisecond. */
function isoTime(unixMs: number): string {
  if (unixMs !== lastMs) {
    lastIso = new Date(unixMs).toISOString();
    lastMs = unixMs;
  }
  return lastIso;
}

function field(name: string, value: string): string {
  return `  "${name}" : ${JSON.stringify(value)}`;
}

function attributeText({ dataType, value }: MessageAttribute): string {
  const text = typeof value === 'string' ? value : Buffer.from(value).toString('base64');
  return JSON.stringify({ Type: dataType, Value: text });
}
