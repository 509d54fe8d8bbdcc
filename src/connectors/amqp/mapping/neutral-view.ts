import type { NeutralView } from '../../../core/message.js';
import { NO_TAGS } from '../../../core/message.js';
import type { Properties } from '../wire/properties.js';
import { decodeProperties } from '../wire/properties.js';
import { headersToMetadata } from './json-headers.js';
import { decodeRoute, splitOrigin } from './message-origin.js';

/** Tags of properties that are text or whole numbers (seed: AMQP basic properties → KubeMQ tags). */
export const PROPERTY_TAGS: readonly (readonly [
  tag: string,
  property: Exclude<keyof Properties, 'headers'>,
])[] = [
  ['amqp.content-type', 'contentType'],
  ['amqp.content-encoding', 'contentEncoding'],
  ['amqp.delivery-mode', 'deliveryMode'],
  ['amqp.priority', 'priority'],
  ['amqp.correlation-id', 'correlationId'],
  ['amqp.reply-to', 'replyTo'],
  ['amqp.expiration', 'expiration'],
  ['amqp.message-id', 'messageId'],
  ['amqp.timestamp', 'timestamp'],
  ['amqp.type', 'type'],
  ['amqp.user-id', 'userId'],
  ['amqp.app-id', 'appId'],
];

export const EXCHANGE_TAG = 'amqp.exchange';
export const ROUTING_KEY_TAG = 'amqp.routing-key';

/** What other protocols see of a message published over AMQP. Never throws: what cannot be read is left out. */
export function neutralView(origin: Uint8Array): NeutralView {
  const parts = splitOrigin(origin);
  if (parts === undefined) return { tags: NO_TAGS };
  const properties = readable(parts.properties);
  const tags = new Map<string, string>();
  for (const [tag, property] of PROPERTY_TAGS) {
    const value = properties[property];
    if (value !== undefined) tags.set(tag, String(value));
  }
  const { exchange, routingKey } = decodeRoute(parts.route);
  tags.set(EXCHANGE_TAG, exchange);
  tags.set(ROUTING_KEY_TAG, routingKey);
  return { id: properties.messageId, metadata: headersToMetadata(properties.headers), tags };
}

function readable(bytes: Uint8Array): Properties {
  try {
    return decodeProperties(bytes);
  } catch {
    // A fault inside a nested header value, which the publish did not look into.
    return {};
  }
}
