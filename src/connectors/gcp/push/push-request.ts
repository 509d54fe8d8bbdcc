import type { HandedMessage } from '../extensions.js';
import { decodeMessageFields, type MessageFields } from '../wire/message-fields.js';

/** What one POST of a push subscription is made of. */
export interface PushParts {
  /** Full name. */
  readonly subscription: string;
  readonly message: HandedMessage;
  /** 0 = the subscription does not count (it has no dead-letter policy). */
  readonly deliveryAttempt: number;
  /** Undefined: wrapped. */
  readonly unwrapped: { readonly writeMetadata: boolean } | undefined;
  /** Bearer token; '' = none. */
  readonly token: string;
}

export interface PushRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** What Google's push requests are known by. */
const USER_AGENT = 'APIs-Google; (+https://developers.google.com/webmasters/APIs-Google.html)';

/** Headers that are the transport's, or say who the sender is: an attribute of such a name stays away. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const HEADER_VALUE = /^[\x20-\x7e\x80-\xff]*$/;

/** The POST for a message. Pure. */
export function pushRequest(parts: PushParts): PushRequest {
  const { token, unwrapped, message } = parts;
  const fields = decodeMessageFields(message.fields);
  const common: Record<string, string> = { 'User-Agent': USER_AGENT, Accept: 'application/json' };
  if (token !== '') common['Authorization'] = `Bearer ${token}`;
  if (unwrapped === undefined) {
    return { headers: { ...common, 'Content-Type': 'application/json' }, body: envelope(parts, fields) };
  }
  const metadata = unwrapped.writeMetadata ? metadataHeaders(parts, fields) : {};
  return {
    headers: { 'Content-Type': 'application/octet-stream', ...metadata, ...common },
    body: message.data,
  };
}

/** The JSON around a message, with ids and times in both spellings, as Google has them. */
function envelope(parts: PushParts, fields: MessageFields): string {
  const { message, subscription, deliveryAttempt } = parts;
  const { attributes, messageId, orderingKey } = fields;
  const publishTime = new Date(fields.publishTime).toISOString();
  const data = Buffer.from(message.data.buffer, message.data.byteOffset, message.data.byteLength);
  return JSON.stringify({
    message: {
      ...(attributes.size === 0 ? {} : { attributes: Object.fromEntries(attributes) }),
      ...(data.length === 0 ? {} : { data: data.toString('base64') }),
      messageId,
      message_id: messageId,
      ...(orderingKey === '' ? {} : { orderingKey }),
      publishTime,
      publish_time: publishTime,
    },
    subscription,
    ...(deliveryAttempt === 0 ? {} : { deliveryAttempt }),
  });
}

function metadataHeaders({ subscription }: PushParts, fields: MessageFields): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [key, value] of fields.attributes) {
    if (!HEADER_NAME.test(key) || !HEADER_VALUE.test(value) || OWN_HEADERS.has(key.toLowerCase())) continue;
    headers[headerName(key)] = value;
  }
  headers['x-goog-pubsub-subscription-name'] = subscription;
  headers['x-goog-pubsub-message-id'] = fields.messageId;
  headers['x-goog-pubsub-publish-time'] = new Date(fields.publishTime).toISOString();
  // A key that no header can carry is percent-encoded.
  const { orderingKey } = fields;
  if (orderingKey !== '') {
    headers['x-goog-pubsub-ordering-key'] = HEADER_VALUE.test(orderingKey)
      ? orderingKey
      : encodeURIComponent(orderingKey);
  }
  return headers;
}

/** An attribute in the place of the default content type, however it is written. */
function headerName(key: string): string {
  return key.toLowerCase() === 'content-type' ? 'Content-Type' : key;
}
