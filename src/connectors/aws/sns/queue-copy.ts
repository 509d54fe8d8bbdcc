import type { OutgoingMessage } from '../../../core/message.js';
import { topicArn } from '../names.js';
import type { AwsServices } from '../operation.js';
import { ATTRIBUTES_MAX } from '../sqs/message-attributes.js';
import { placeOf } from '../sqs/outgoing-message.js';
import type { Queue } from '../sqs/queue-registry.js';
import { md5Hex } from '../wire/md5.js';
import { encodeAttributes } from '../wire/message-attributes.js';
import { encodeOrigin } from '../wire/origin.js';
import { notificationBytes, notificationToSign, unsubscribeField } from './notification.js';
import type { Signed } from './notification.js';
import type { Content } from './publication.js';
import type { Subscription, SubscriptionRecord } from './subscription.js';

/** Attribute of what is replayed raw. */
const REPLAYED = { name: 'Replayed', dataType: 'String', value: 'true' } as const;

/** What building a delivery works with. */
type DeliveryServices = Omit<AwsServices, 'webhooks' | 'replays'>;

/** What a subscription gets, in UTF-8: the bare message when it is raw, else the `Notification` around it. */
export function deliveredBytes(
  services: DeliveryServices,
  subscription: Subscription,
  content: Content,
  signed: Signed | undefined,
): Buffer {
  if (subscription.raw) return rawBytes(content);
  const { config } = services;
  const { record } = subscription;
  return notificationBytes(content, {
    topicArn: topicArn(config, record.topic),
    unsubscribe: unsubscribeLink(services, subscription),
    signed,
  });
}

/** The link that ends a subscription, as it stands in its documents: the same from one message to the next. */
const UNSUBSCRIBE = new WeakMap<Subscription, { readonly origin: string; readonly field: Buffer }>();

function unsubscribeLink(services: DeliveryServices, subscription: Subscription): Buffer {
  const origin = linkOrigin(services, subscription.record);
  const known = UNSUBSCRIBE.get(subscription);
  if (known?.origin === origin) return known.field;
  const arn = topicArn(services.config, subscription.key);
  const field = unsubscribeField(`${origin}/?Action=Unsubscribe&SubscriptionArn=${arn}`);
  UNSUBSCRIBE.set(subscription, { origin, field });
  return field;
}

/** Bare messages: one for all subscriptions that get the same. */
const RAW_BYTES = new WeakMap<Content, Buffer>();

function rawBytes(content: Content): Buffer {
  let bytes = RAW_BYTES.get(content);
  if (bytes === undefined) {
    bytes = Buffer.from(content.text, 'utf8');
    RAW_BYTES.set(content, bytes);
  }
  return bytes;
}

/** What links in the deliveries of a subscription begin with: the advertised URL, else the host its subscriber used. */
export function linkOrigin(
  { config, origin }: Pick<AwsServices, 'config' | 'origin'>,
  record: SubscriptionRecord,
): string {
  return config.advertisedUrl === '' && record.origin !== undefined ? record.origin : origin();
}

/** The signature that goes into a subscription's `Notification`. The key must be there (`signing.ready`). */
export function signatureFor(
  services: DeliveryServices,
  subscription: Subscription,
  content: Content,
): Signed {
  const { config, signing, topics } = services;
  const { topic } = subscription.record;
  const version = topics.find(topic)?.record.attributes['SignatureVersion'] === '2' ? '2' : '1';
  const toSign = notificationToSign(content, topicArn(config, topic));
  return {
    version,
    // One signature serves all subscriptions of a message that get the same text.
    signature: signing.sign(toSign, version),
    certificateUrl: linkOrigin(services, subscription.record) + signing.certificatePath,
  };
}

/** Raw, there is no document that could say that the message is replayed. */
function marked(attributes: Content['attributes']): Content['attributes'] {
  const free = attributes.length < ATTRIBUTES_MAX && !attributes.some(({ name }) => name === REPLAYED.name);
  return free ? [...attributes, REPLAYED] : attributes;
}

/** What goes into a queue, before its checksum is known: that is quicker to tell of many at once. */
export interface QueueDraft {
  readonly queue: Queue;
  readonly subscription: Subscription;
  readonly content: Content;
  readonly body: Buffer;
}

/** The message for a queue: its body, and what SQS tells beside it. */
export function queueCopy(services: DeliveryServices, draft: QueueDraft, bodyMd5: string): OutgoingMessage {
  const { queue, subscription, content, body } = draft;
  const { raw, record } = subscription;
  // The groups of a FIFO topic end where nothing is ordered.
  const groupId = content.sequenceNumber !== undefined && !queue.fifo ? undefined : content.groupId;
  const attributes = raw && content.replayed === true ? marked(content.attributes) : content.attributes;
  const canonical = raw && attributes.length > 0 ? encodeAttributes(attributes) : undefined;
  const id = services.ids.uuid();
  const dedupId = queue.fifo ? content.dedupId : undefined;
  const origin = encodeOrigin({
    messageId: id,
    bodyMd5,
    sentAt: services.clock.now(),
    senderId: content.senderId,
    groupId,
    dedupId,
    traceHeader: content.traceHeader,
    topicArn: raw ? topicArn(services.config, record.topic) : undefined,
    subject: raw ? content.subject : undefined,
    attributes: canonical,
    attributesMd5: canonical === undefined ? undefined : md5Hex(canonical),
  });
  // What is replayed is wanted again, however short ago it came: it is no duplicate of itself.
  const place = placeOf({ services }, queue, groupId, content.replayed === true ? undefined : dedupId);
  return {
    channel: place.channel,
    dedupId: place.dedupId,
    body,
    id,
    clientId: content.senderId,
    origin: { protocol: 'aws', bytes: origin },
    policy: queue.delayMs === 0 ? undefined : { delayMs: queue.delayMs },
  };
}
