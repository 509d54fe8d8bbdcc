import type { StoredMessage } from '../../../core/message.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { encodeTable, stringField } from '../wire/field-table.js';
import type { Properties } from '../wire/properties.js';
import { encodeProperties } from '../wire/properties.js';
import { headersFromMetadata } from './json-headers.js';
import type { MessageParts } from './message-origin.js';
import { encodeRoute } from './message-origin.js';
import { EXCHANGE_TAG, PROPERTY_TAGS, ROUTING_KEY_TAG } from './neutral-view.js';

/** Header that carries the metadata of messages from other protocols. */
export const METADATA_HEADER = 'x-kubemq-metadata';

/** Bytes of a property list besides its headers, at most: twelve short strings, two octets and a timestamp. */
const OTHER_PROPERTIES_BYTES_MAX = 12 * 256 + 64;

const SHORT_STRING_BYTES_MAX = 255;

/**
 * A message of another protocol as AMQP shows it: `amqp.*` tags become properties, other tags string headers, metadata the
 * header `x-kubemq-metadata` (or headers, when it is an envelope of them), the id message-id. A content header cannot be
 * split, so headers that would not fit in `frameMax` are left out.
 */
export function foreignParts(message: StoredMessage, queue: string, frameMax: number): MessageParts {
  const properties: Partial<Record<keyof Properties, unknown>> = { messageId: shortString(message.id) };
  const enveloped = headersFromMetadata(message.metadata);
  const headers = new Map<string, FieldValue>(enveloped);
  const known = new Set<string>([EXCHANGE_TAG, ROUTING_KEY_TAG]);
  for (const [tag, property] of PROPERTY_TAGS) {
    const text = message.tags.get(tag);
    if (text === undefined) continue;
    const value = propertyValue(property, text);
    if (value === undefined) continue;
    properties[property] = value;
    known.add(tag);
  }
  for (const [tag, text] of message.tags) {
    if (!known.has(tag) && Buffer.byteLength(tag) <= SHORT_STRING_BYTES_MAX)
      headers.set(tag, stringField(text));
  }
  if (enveloped === undefined && message.metadata !== '') {
    headers.set(METADATA_HEADER, stringField(message.metadata));
  }
  const fitting = fit(headers, frameMax - OTHER_PROPERTIES_BYTES_MAX);
  if (fitting.size > 0) properties.headers = fitting;
  const exchange = shortString(message.tags.get(EXCHANGE_TAG)) ?? '';
  const routingKey = shortString(message.tags.get(ROUTING_KEY_TAG)) ?? queue;
  return { route: encodeRoute(exchange, routingKey), properties: encodeProperties(properties as Properties) };
}

function propertyValue(property: keyof Properties, text: string): unknown {
  switch (property) {
    case 'deliveryMode':
    case 'priority':
      return /^\d{1,3}$/.test(text) && Number(text) <= 255 ? Number(text) : undefined;
    case 'timestamp':
      return /^\d{1,18}$/.test(text) ? BigInt(text) : undefined;
    default:
      return shortString(text);
  }
}

function shortString(text: string | undefined): string | undefined {
  return text !== undefined && Buffer.byteLength(text) <= SHORT_STRING_BYTES_MAX ? text : undefined;
}

function fit(headers: FieldTable, bytesMax: number): FieldTable {
  if (encodeTable(headers).length <= bytesMax) return headers;
  const fitting = new Map<string, FieldValue>();
  let left = bytesMax - 4;
  for (const [key, field] of headers) {
    const size = encodeTable(new Map([[key, field]])).length - 4;
    if (size > left) continue;
    left -= size;
    fitting.set(key, field);
  }
  return fitting;
}
