import { ackIdLength, writeAckId, type AckToken } from './ack-id.js';
import { tagOf, varintLength, WIRE_LENGTH, WIRE_VARINT, writeVarint } from './protobuf.js';

/** Codec of the `received_messages` of google.pubsub.v1.PullResponse and StreamingPullResponse (field 1 in both). */

/** One message to write. */
export interface ReceivedParts {
  readonly token: AckToken;
  readonly data: Uint8Array;
  /** The PubsubMessage without its data: encoded fields. */
  readonly fields: Uint8Array;
  /** 0 = left out. */
  readonly deliveryAttempt: number;
}

const RECEIVED_MESSAGES = tagOf(1, WIRE_LENGTH);
const RECEIVED_ACK_ID = tagOf(1, WIRE_LENGTH);
const RECEIVED_MESSAGE = tagOf(2, WIRE_LENGTH);
const RECEIVED_ATTEMPT = tagOf(3, WIRE_VARINT);
const MESSAGE_DATA = tagOf(1, WIRE_LENGTH);
const RESPONSE_PROPERTIES = tagOf(4, WIRE_LENGTH);
const PROPERTIES_EXACTLY_ONCE = tagOf(1, WIRE_VARINT);
const PROPERTIES_ORDERING = tagOf(2, WIRE_VARINT);

/** The `subscription_properties` field of a StreamingPullResponse, present even when both are false. */
export function encodeSubscriptionProperties(exactlyOnce: boolean, ordering: boolean): Uint8Array {
  const inner: number[] = [];
  if (exactlyOnce) inner.push(PROPERTIES_EXACTLY_ONCE, 1);
  if (ordering) inner.push(PROPERTIES_ORDERING, 1);
  return Uint8Array.from([RESPONSE_PROPERTIES, inner.length, ...inner]);
}

/** Bytes one message adds to a response. */
export function receivedLength(parts: ReceivedParts): number {
  const inner = innerLength(parts);
  return 1 + varintLength(inner) + inner;
}

/**
 * A response with these messages and, behind them, further encoded fields of it (`trailer`). One buffer, each body copied
 * once. `seed` is the subscription's ack id seed.
 */
export function encodeReceivedMessages(
  messages: readonly ReceivedParts[],
  seed: number,
  trailer: Uint8Array,
): Buffer {
  let length = trailer.length;
  for (const parts of messages) length += receivedLength(parts);
  const out = Buffer.allocUnsafe(length);
  let at = 0;
  for (const parts of messages) at = writeReceived(out, at, parts, seed);
  out.set(trailer, at);
  return out;
}

function messageLength(parts: ReceivedParts): number {
  const { data, fields } = parts;
  return fields.length + (data.length === 0 ? 0 : 1 + varintLength(data.length) + data.length);
}

function innerLength(parts: ReceivedParts): number {
  const idChars = ackIdLength(parts.token.suffix);
  const message = messageLength(parts);
  return (
    1 +
    varintLength(idChars) +
    idChars +
    1 +
    varintLength(message) +
    message +
    (parts.deliveryAttempt === 0 ? 0 : 1 + varintLength(parts.deliveryAttempt))
  );
}

function writeReceived(out: Buffer, start: number, parts: ReceivedParts, seed: number): number {
  const { data, fields, token } = parts;
  let at = start;
  out[at++] = RECEIVED_MESSAGES;
  at = writeVarint(out, at, innerLength(parts));
  out[at++] = RECEIVED_ACK_ID;
  at = writeVarint(out, at, ackIdLength(token.suffix));
  at = writeAckId(out, at, seed, token);
  out[at++] = RECEIVED_MESSAGE;
  at = writeVarint(out, at, messageLength(parts));
  if (data.length > 0) {
    out[at++] = MESSAGE_DATA;
    at = writeVarint(out, at, data.length);
    out.set(data, at);
    at += data.length;
  }
  out.set(fields, at);
  at += fields.length;
  if (parts.deliveryAttempt !== 0) {
    out[at++] = RECEIVED_ATTEMPT;
    at = writeVarint(out, at, parts.deliveryAttempt);
  }
  return at;
}
