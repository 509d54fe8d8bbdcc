import { readAttribute, type AttributeView } from './publish.js';
import {
  ProtobufReader,
  tagOf,
  utf8,
  varintLength,
  WIRE_LENGTH,
  writeAscii,
  writeVarint,
} from './protobuf.js';

/**
 * A PubsubMessage without its data, encoded: what the connector keeps of a message next to the body and writes back
 * untouched. The ordering key stands first when there is one, so that routing sees it without reading on.
 */

const ATTRIBUTES = tagOf(2, WIRE_LENGTH);
const MESSAGE_ID = tagOf(3, WIRE_LENGTH);
const PUBLISH_TIME = tagOf(4, WIRE_LENGTH);
const ORDERING_KEY = tagOf(5, WIRE_LENGTH);
const TIME_SECONDS = tagOf(1, 0);
const TIME_NANOS = tagOf(2, 0);

export interface MessageFields {
  readonly messageId: string;
  /** Unix ms. */
  readonly publishTime: number;
  readonly orderingKey: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** The `publish_time` field for a Unix time in whole milliseconds. */
export function encodePublishTime(timeMs: number): Uint8Array {
  const seconds = Math.floor(timeMs / 1000);
  const nanos = Math.floor(timeMs - seconds * 1000) * 1_000_000;
  const inner = Buffer.alloc(16);
  let at = 0;
  inner[at++] = TIME_SECONDS;
  at = writeVarint(inner, at, seconds);
  if (nanos > 0) {
    inner[at++] = TIME_NANOS;
    at = writeVarint(inner, at, nanos);
  }
  return Buffer.concat([Uint8Array.of(PUBLISH_TIME, at), inner.subarray(0, at)]);
}

/** Bytes of the fields of one message; attributes are whole `attributes` fields. */
export function messageFieldsLength(
  orderingKeyBytes: number,
  messageIdBytes: number,
  restBytes: number,
): number {
  const key = orderingKeyBytes === 0 ? 0 : 1 + varintLength(orderingKeyBytes) + orderingKeyBytes;
  return key + 1 + varintLength(messageIdBytes) + messageIdBytes + restBytes;
}

export interface MessageFieldParts {
  readonly orderingKey: Uint8Array;
  /** ASCII. */
  readonly messageId: string;
  /** The encoded `publish_time` field. */
  readonly publishTime: Uint8Array;
  readonly attributes: readonly AttributeView[];
}

/** Writes the fields of one message; returns the place behind them. */
export function writeMessageFields(out: Buffer, start: number, parts: MessageFieldParts): number {
  let at = start;
  if (parts.orderingKey.length > 0) {
    out[at++] = ORDERING_KEY;
    at = writeVarint(out, at, parts.orderingKey.length);
    out.set(parts.orderingKey, at);
    at += parts.orderingKey.length;
  }
  out[at++] = MESSAGE_ID;
  at = writeVarint(out, at, parts.messageId.length);
  at = writeAscii(out, at, parts.messageId);
  out.set(parts.publishTime, at);
  at += parts.publishTime.length;
  for (const { field } of parts.attributes) {
    out.set(field, at);
    at += field.length;
  }
  return at;
}

/** Encodes fields given as text: messages of other protocols. Not the hot path. */
export function encodeMessageFields(fields: MessageFields): Buffer {
  const chunks: Uint8Array[] = [];
  if (fields.orderingKey !== '') chunks.push(textField(ORDERING_KEY, fields.orderingKey));
  chunks.push(textField(MESSAGE_ID, fields.messageId), encodePublishTime(fields.publishTime));
  for (const [key, value] of fields.attributes) {
    const entry = Buffer.concat([
      textField(tagOf(1, WIRE_LENGTH), key),
      textField(tagOf(2, WIRE_LENGTH), value),
    ]);
    chunks.push(lengthField(ATTRIBUTES, entry));
  }
  return Buffer.concat(chunks);
}

/** The ordering key of encoded fields, or ''. Looks at the front only. */
export function orderingKeyOf(fields: Uint8Array): string {
  if (fields[0] !== ORDERING_KEY) return '';
  const reader = new ProtobufReader(fields, 1);
  return reader.string();
}

export function decodeMessageFields(fields: Uint8Array): MessageFields {
  const reader = new ProtobufReader(fields);
  const attributes = new Map<string, string>();
  let messageId = '';
  let publishTime = 0;
  let orderingKey = '';
  for (;;) {
    const start = reader.at;
    const tag = reader.tag();
    if (tag === 0) break;
    if (tag === ATTRIBUTES) {
      const { key, value } = readAttribute(reader, start);
      attributes.set(utf8(key, 0, key.length), utf8(value, 0, value.length));
    } else if (tag === MESSAGE_ID) messageId = reader.string();
    else if (tag === PUBLISH_TIME) publishTime = decodeTime(reader.view());
    else if (tag === ORDERING_KEY) orderingKey = reader.string();
    else reader.skip(tag);
  }
  return { messageId, publishTime, orderingKey, attributes };
}

function decodeTime(bytes: Uint8Array): number {
  const reader = new ProtobufReader(bytes);
  let seconds = 0;
  let nanos = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === TIME_SECONDS) seconds = reader.int64();
    else if (tag === TIME_NANOS) nanos = reader.int32();
    else reader.skip(tag);
  }
  return seconds * 1000 + Math.floor(nanos / 1_000_000);
}

function textField(tag: number, text: string): Buffer {
  return lengthField(tag, Buffer.from(text));
}

function lengthField(tag: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(1 + varintLength(bytes.length));
  head[0] = tag;
  writeVarint(head, 1, bytes.length);
  return Buffer.concat([head, bytes]);
}
