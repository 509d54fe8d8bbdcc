import {
  ProtobufReader,
  requireUtf8,
  tagOf,
  varintLength,
  WIRE_LENGTH,
  writeAscii,
  writeVarint,
} from './protobuf.js';

/** Codec of google.pubsub.v1.PublishRequest and PublishResponse. Bodies and attributes stay where they arrived. */

/** One PubsubMessage of a request: views into its bytes. Ids and times a client set are not read: the server's win. */
export interface PublishedMessage {
  readonly data: Uint8Array;
  /** Whole `attributes` fields (tag, length, entry), as sent. */
  readonly attributes: readonly AttributeView[];
  /** UTF-8; empty when there is none. */
  readonly orderingKey: Uint8Array;
}

/** One map entry: the whole field, and its key and value (UTF-8). */
export interface AttributeView {
  readonly field: Uint8Array;
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface PublishRequestView {
  readonly topic: string;
  readonly messages: readonly PublishedMessage[];
  /** Size of the whole request. */
  readonly bytes: number;
}

const REQUEST_TOPIC = tagOf(1, WIRE_LENGTH);
const REQUEST_MESSAGES = tagOf(2, WIRE_LENGTH);
const MESSAGE_DATA = tagOf(1, WIRE_LENGTH);
const MESSAGE_ATTRIBUTES = tagOf(2, WIRE_LENGTH);
const MESSAGE_ORDERING_KEY = tagOf(5, WIRE_LENGTH);
const ENTRY_KEY = tagOf(1, WIRE_LENGTH);
const ENTRY_VALUE = tagOf(2, WIRE_LENGTH);
const RESPONSE_MESSAGE_IDS = tagOf(1, WIRE_LENGTH);

const NO_BYTES: Uint8Array = new Uint8Array(0);
const NO_ATTRIBUTES: readonly AttributeView[] = [];

export function decodePublishRequest(bytes: Uint8Array): PublishRequestView {
  const reader = new ProtobufReader(bytes);
  let topic = '';
  const messages: PublishedMessage[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === REQUEST_MESSAGES) messages.push(readMessage(reader));
    else if (tag === REQUEST_TOPIC) topic = reader.string();
    else reader.skip(tag);
  }
  return { topic, messages, bytes: bytes.length };
}

/** Reads a length-delimited PubsubMessage. */
function readMessage(outer: ProtobufReader): PublishedMessage {
  const length = outer.length();
  const reader = new ProtobufReader(outer.bytes, outer.at, outer.at + length);
  outer.at += length;
  let data = NO_BYTES;
  let orderingKey = NO_BYTES;
  let attributes: AttributeView[] | undefined;
  for (;;) {
    const start = reader.at;
    const tag = reader.tag();
    if (tag === 0) break;
    if (tag === MESSAGE_DATA) data = reader.view();
    else if (tag === MESSAGE_ATTRIBUTES) (attributes ??= []).push(readAttribute(reader, start));
    else if (tag === MESSAGE_ORDERING_KEY) {
      orderingKey = reader.view();
      requireUtf8(orderingKey, 0, orderingKey.length);
    } else reader.skip(tag);
  }
  return { data, attributes: attributes ?? NO_ATTRIBUTES, orderingKey };
}

/** Reads a map entry whose tag has been read; `start` is where the tag began. */
export function readAttribute(outer: ProtobufReader, start: number): AttributeView {
  const length = outer.length();
  const reader = new ProtobufReader(outer.bytes, outer.at, outer.at + length);
  outer.at += length;
  let key = NO_BYTES;
  let value = NO_BYTES;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === ENTRY_KEY) key = reader.view();
    else if (tag === ENTRY_VALUE) value = reader.view();
    else reader.skip(tag);
  }
  requireUtf8(key, 0, key.length);
  requireUtf8(value, 0, value.length);
  return { field: outer.bytes.subarray(start, outer.at), key, value };
}

/** Message ids are ASCII digits, shorter than 128 characters. */
export function encodePublishResponse(messageIds: readonly string[]): Buffer {
  let length = 0;
  for (const id of messageIds) length += 1 + varintLength(id.length) + id.length;
  const out = Buffer.allocUnsafe(length);
  let at = 0;
  for (const id of messageIds) {
    out[at++] = RESPONSE_MESSAGE_IDS;
    at = writeVarint(out, at, id.length);
    at = writeAscii(out, at, id);
  }
  return out;
}
