import type { Origin, StoredMessage } from '../../../core/message.js';

/** The protocol name of our origin bytes, and of the translator for them. */
export const ORIGIN_PROTOCOL = 'amqp';

/**
 * Origin bytes of a published message: a format version, then exchange and routing key as two short strings, then property
 * flags and list, all as they stood on the wire. Delivering to AMQP copies them back without decoding.
 */
const FORMAT_VERSION = 1;

export interface MessageParts {
  /** Exchange and routing key as two short strings. */
  readonly route: Uint8Array;
  /** Property flags and list. */
  readonly properties: Uint8Array;
}

export function encodeOrigin(route: Uint8Array, properties: Uint8Array): Origin {
  const bytes = Buffer.allocUnsafe(1 + route.length + properties.length);
  bytes[0] = FORMAT_VERSION;
  bytes.set(route, 1);
  bytes.set(properties, 1 + route.length);
  return { protocol: ORIGIN_PROTOCOL, bytes };
}

/** The parts of origin bytes, as views; undefined when they are not of a format we know. */
export function splitOrigin(bytes: Uint8Array): MessageParts | undefined {
  if (bytes[0] !== FORMAT_VERSION) return undefined;
  const keyAt = 2 + (bytes[1] ?? 0);
  const end = keyAt + 1 + (bytes[keyAt] ?? 0);
  if (end + 2 > bytes.length) return undefined;
  return { route: bytes.subarray(1, end), properties: bytes.subarray(end) };
}

/** The parts of a message that was published over AMQP; undefined for messages of other protocols. */
export function partsOf(message: StoredMessage): MessageParts | undefined {
  const origin = message.origin;
  return origin?.protocol === ORIGIN_PROTOCOL ? splitOrigin(origin.bytes) : undefined;
}

/** Exchange and routing key as two short strings. Both are at most 255 bytes. */
export function encodeRoute(exchange: string, routingKey: string): Buffer {
  const exchangeBytes = Buffer.from(exchange, 'utf8');
  const keyBytes = Buffer.from(routingKey, 'utf8');
  return Buffer.concat([
    Buffer.from([exchangeBytes.length]),
    exchangeBytes,
    Buffer.from([keyBytes.length]),
    keyBytes,
  ]);
}

export function decodeRoute(route: Uint8Array): { readonly exchange: string; readonly routingKey: string } {
  const bytes = Buffer.from(route.buffer, route.byteOffset, route.length);
  const keyAt = 1 + (bytes[0] ?? 0);
  return { exchange: bytes.toString('utf8', 1, keyAt), routingKey: bytes.toString('utf8', keyAt + 1) };
}
