import type { Origin, StoredMessage } from '../../../core/message.js';

/** The protocol name of our origin bytes, and of the translator for them. */
export const ORIGIN_PROTOCOL = 'amqp';

/**
 * Origin bytes of a published message: a format version, then exchange and routing key as two short strings, then property
 * flags and list, all as they stood on the wire. Delivering to AMQP copies them back without decoding.
 */
const FORMAT_VERSION = 1;
/** Likewise, with two bytes of length and keys as short strings before the exchange: those of the BCC header. */
const FORMAT_WITH_BCC = 2;

const NO_KEYS: readonly string[] = [];

export interface MessageParts {
  /** Exchange and routing key as two short strings. */
  readonly route: Uint8Array;
  /** Property flags and list. */
  readonly properties: Uint8Array;
  /** Keys of the BCC header, which consumers never see and dead-lettering routes by again. Absent: none. */
  readonly bcc?: readonly string[];
}

export function encodeOrigin(
  route: Uint8Array,
  properties: Uint8Array,
  bcc: readonly string[] = NO_KEYS,
): Origin {
  if (bcc.length > 0) return encodeWithBcc(route, properties, bcc);
  const bytes = Buffer.allocUnsafe(1 + route.length + properties.length);
  bytes[0] = FORMAT_VERSION;
  bytes.set(route, 1);
  bytes.set(properties, 1 + route.length);
  return { protocol: ORIGIN_PROTOCOL, bytes };
}

function encodeWithBcc(route: Uint8Array, properties: Uint8Array, bcc: readonly string[]): Origin {
  const keys = Buffer.concat(bcc.map((key) => encodeRoute(key)));
  const head = Buffer.alloc(3);
  head[0] = FORMAT_WITH_BCC;
  head.writeUInt16BE(keys.length, 1);
  return { protocol: ORIGIN_PROTOCOL, bytes: Buffer.concat([head, keys, route, properties]) };
}

/** The parts of origin bytes, as views; undefined when they are not of a format we know. */
export function splitOrigin(bytes: Uint8Array): MessageParts | undefined {
  if (bytes[0] === FORMAT_WITH_BCC) return splitWithBcc(bytes);
  if (bytes[0] !== FORMAT_VERSION) return undefined;
  const keyAt = 2 + (bytes[1] ?? 0);
  const end = keyAt + 1 + (bytes[keyAt] ?? 0);
  if (end + 2 > bytes.length) return undefined;
  return { route: bytes.subarray(1, end), properties: bytes.subarray(end) };
}

function splitWithBcc(bytes: Uint8Array): MessageParts | undefined {
  if (bytes.length < 3) return undefined;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const keysEnd = 3 + view.readUInt16BE(1);
  const bcc: string[] = [];
  for (let at = 3; at < keysEnd; at += 1 + (view[at] ?? 0)) {
    bcc.push(view.toString('utf8', at + 1, at + 1 + (view[at] ?? 0)));
  }
  // The rest is as without such keys: the byte before it takes the place of the version.
  const rest = Buffer.from(view.subarray(keysEnd - 1));
  rest[0] = FORMAT_VERSION;
  const parts = splitOrigin(rest);
  return parts === undefined ? undefined : { ...parts, bcc };
}

/** The parts of a message that was published over AMQP; undefined for messages of other protocols. */
export function partsOf(message: StoredMessage): MessageParts | undefined {
  const origin = message.origin;
  return origin?.protocol === ORIGIN_PROTOCOL ? splitOrigin(origin.bytes) : undefined;
}

/** Texts as short strings, e.g. exchange and routing key. All are at most 255 bytes. */
export function encodeRoute(...texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text, 'utf8');
      return [Buffer.from([bytes.length]), bytes];
    }),
  );
}

export function decodeRoute(route: Uint8Array): { readonly exchange: string; readonly routingKey: string } {
  const bytes = Buffer.from(route.buffer, route.byteOffset, route.length);
  const keyAt = 1 + (bytes[0] ?? 0);
  return { exchange: bytes.toString('utf8', 1, keyAt), routingKey: bytes.toString('utf8', keyAt + 1) };
}
