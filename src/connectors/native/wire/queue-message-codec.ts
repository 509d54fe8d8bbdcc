import { readText, readEntry } from './field-decoding.js';
import { writeBig, writeMap, writeNumber } from './field-encoding.js';
import { DELIMITED, NO_BYTES, NO_MAP, VARINT, type Nested, type OwnCodec } from './field-slot.js';
import type { Sink } from './sink.js';
import { WireError, type Source } from './varint.js';

/**
 * The codecs of a queue's message and of the result of sending one, by hand: field by field, without a look at their
 * declarations, because a stream carries many thousands a second. The declared codec beside them (messages.ts) says what
 * they have to do.
 */

export const text = (field: number): number => (field << 3) | DELIMITED;
export const number = (field: number): number => (field << 3) | VARINT;

const TEXT_1 = text(1);
const TEXT_2 = text(2);
const TEXT_3 = text(3);
const TEXT_4 = text(4);
const TEXT_5 = text(5);
const TEXT_6 = text(6);
const TEXT_7 = text(7);
const TEXT_8 = text(8);
const TEXT_9 = text(9);
const TEXT_10 = text(10);
const TEXT_11 = text(11);
const NUMBER_1 = number(1);
const NUMBER_2 = number(2);
const NUMBER_3 = number(3);
const NUMBER_4 = number(4);
const NUMBER_5 = number(5);
const NUMBER_7 = number(7);
const NUMBER_8 = number(8);
const NUMBER_9 = number(9);
const NUMBER_10 = number(10);

export function putText(tag: number, value: string | undefined, sink: Sink): void {
  if (value === undefined || value.length === 0) return;
  sink.text(value);
  sink.small(tag);
}

export function putNumber(tag: number, value: number | undefined, sink: Sink): void {
  if (value === undefined || value === 0) return;
  writeNumber(value, sink);
  sink.small(tag);
}

export function putBig(tag: number, value: bigint | undefined, sink: Sink): void {
  if (value === undefined || value === 0n) return;
  writeBig(value, sink);
  sink.small(tag);
}

export function putBool(tag: number, value: boolean | undefined, sink: Sink): void {
  if (value !== true) return;
  sink.small(1);
  sink.small(tag);
}

interface Attributes {
  readonly timestamp?: bigint | undefined;
  readonly sequence?: number | undefined;
  readonly md5OfBody?: string | undefined;
  readonly receiveCount?: number | undefined;
  readonly reRouted?: boolean | undefined;
  readonly reRoutedFromQueue?: string | undefined;
  readonly expirationAt?: bigint | undefined;
  readonly delayedTo?: bigint | undefined;
}

function writeAttributes(value: Attributes, sink: Sink): void {
  putBig(NUMBER_8, value.delayedTo, sink);
  putBig(NUMBER_7, value.expirationAt, sink);
  putText(TEXT_6, value.reRoutedFromQueue, sink);
  putBool(NUMBER_5, value.reRouted, sink);
  putNumber(NUMBER_4, value.receiveCount, sink);
  putText(TEXT_3, value.md5OfBody, sink);
  putNumber(NUMBER_2, value.sequence, sink);
  putBig(NUMBER_1, value.timestamp, sink);
}

export interface Policy {
  readonly expirationSeconds?: number | undefined;
  readonly delaySeconds?: number | undefined;
  readonly maxReceiveCount?: number | undefined;
  readonly maxReceiveQueue?: string | undefined;
}

export function writePolicy(value: Policy, sink: Sink): void {
  putText(TEXT_4, value.maxReceiveQueue, sink);
  putNumber(NUMBER_3, value.maxReceiveCount, sink);
  putNumber(NUMBER_2, value.delaySeconds, sink);
  putNumber(NUMBER_1, value.expirationSeconds, sink);
}

interface Outgoing {
  readonly messageId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly channel?: string | undefined;
  readonly metadata?: string | undefined;
  readonly body?: Uint8Array | undefined;
  readonly tags?: ReadonlyMap<string, string> | undefined;
  readonly attributes?: Attributes | undefined;
  readonly policy?: Policy | undefined;
  readonly topic?: string | undefined;
  readonly partition?: number | undefined;
  readonly partitionKey?: string | undefined;
}

/** A message that writes itself, in less time than field by field; the fields are there all the same. */
export interface WritesItself {
  writeTo(sink: Sink): void;
}

function writeMessage(value: Outgoing & Partial<WritesItself>, sink: Sink): void {
  if (value.writeTo !== undefined) {
    value.writeTo(sink);
    return;
  }
  putText(TEXT_11, value.partitionKey, sink);
  putNumber(NUMBER_10, value.partition, sink);
  putText(TEXT_9, value.topic, sink);
  const { policy, attributes, tags, body } = value;
  if (policy !== undefined) {
    const end = sink.length;
    writePolicy(policy, sink);
    sink.small(sink.length - end);
    sink.small(TEXT_8);
  }
  if (attributes !== undefined) {
    const end = sink.length;
    writeAttributes(attributes, sink);
    sink.small(sink.length - end);
    sink.small(TEXT_7);
  }
  if (tags !== undefined) writeMap(TEXT_6, tags, sink);
  if (body !== undefined && body.byteLength > 0) {
    sink.block(body);
    sink.small(TEXT_5);
  }
  putText(TEXT_4, value.metadata, sink);
  putText(TEXT_3, value.channel, sink);
  putText(TEXT_2, value.clientId, sink);
  putText(TEXT_1, value.messageId, sink);
}

/** A decoded message: all fields are there. */
class Incoming {
  messageId = '';
  clientId = '';
  channel = '';
  metadata = '';
  body: Uint8Array = NO_BYTES;
  tags: ReadonlyMap<string, string> = NO_MAP;
  attributes: object | undefined = undefined;
  policy: object | undefined = undefined;
  topic = '';
  partition = 0;
  partitionKey = '';
}

/** Longer texts are not remembered. */
const KNOWN_TEXT_BYTES_MAX = 256;

/** Names that come with every message of a stream: bytes like the ones before give the text made of those. */
class KnownText {
  #text = '';
  #bytes = NO_BYTES;

  read(source: Source, limit: number): string {
    const start = source.at;
    const end = source.part(limit);
    const from = source.at;
    const known = this.#bytes;
    if (end - from === known.length) {
      const { bytes } = source;
      let at = 0;
      while (at < known.length && bytes[from + at] === known[at]) at++;
      if (at === known.length) {
        source.at = end;
        return this.#text;
      }
    }
    source.at = start;
    const text = readText(source, limit);
    if (end - from <= KNOWN_TEXT_BYTES_MAX) {
      this.#text = text;
      this.#bytes = new Uint8Array(source.bytes.subarray(from, end));
    }
    return text;
  }
}

/** Of nested messages the declared types; they seldom come. */
export interface QueueMessageParts {
  readonly attributes: Nested;
  readonly policy: Nested;
}

/** QueueMessage. */
export function queueMessageCodec(parts: QueueMessageParts): OwnCodec {
  const clientIds = new KnownText();
  const channels = new KnownText();
  const read = (source: Source, end: number, into: Incoming): Incoming => {
    while (source.at < end) {
      source.varint(end);
      if (source.high !== 0 || source.low < 8) throw new WireError('field number out of range');
      switch (source.low) {
        case TEXT_1:
          into.messageId = readText(source, end);
          break;
        case TEXT_2:
          into.clientId = clientIds.read(source, end);
          break;
        case TEXT_3:
          into.channel = channels.read(source, end);
          break;
        case TEXT_4:
          into.metadata = readText(source, end);
          break;
        case TEXT_5: {
          const bodyEnd = source.part(end);
          into.body = source.bytes.subarray(source.at, bodyEnd);
          source.at = bodyEnd;
          break;
        }
        case TEXT_6:
          into.tags = readEntry(into.tags, source, end);
          break;
        case TEXT_7:
          into.attributes = readNested(parts.attributes, into.attributes, source, end);
          break;
        case TEXT_8:
          into.policy = readNested(parts.policy, into.policy, source, end);
          break;
        case TEXT_9:
          into.topic = readText(source, end);
          break;
        case NUMBER_10:
          source.varint(end);
          into.partition = source.low | 0;
          break;
        case TEXT_11:
          into.partitionKey = readText(source, end);
          break;
        default:
          source.skip(source.low, end);
      }
    }
    return into;
  };
  return { write: writeMessage, read, empty: () => new Incoming() } as unknown as OwnCodec;
}

function readNested(type: Nested, before: object | undefined, source: Source, limit: number): object {
  const end = source.part(limit);
  return type.read(source, end, (before as Record<string, unknown> | undefined) ?? type.empty());
}

interface SendResult {
  readonly messageId?: string | undefined;
  readonly sentAt?: bigint | undefined;
  readonly expirationAt?: bigint | undefined;
  readonly delayedTo?: bigint | undefined;
  readonly isError?: boolean | undefined;
  readonly error?: string | undefined;
  readonly refChannel?: string | undefined;
  readonly refTopic?: string | undefined;
  readonly refPartition?: number | undefined;
  readonly refHash?: string | undefined;
}

function writeSendResult(value: SendResult, sink: Sink): void {
  putText(TEXT_10, value.refHash, sink);
  putNumber(NUMBER_9, value.refPartition, sink);
  putText(TEXT_8, value.refTopic, sink);
  putText(TEXT_7, value.refChannel, sink);
  putText(TEXT_6, value.error, sink);
  putBool(NUMBER_5, value.isError, sink);
  putBig(NUMBER_4, value.delayedTo, sink);
  putBig(NUMBER_3, value.expirationAt, sink);
  putBig(NUMBER_2, value.sentAt, sink);
  putText(TEXT_1, value.messageId, sink);
}

/** SendQueueMessageResult, which is only written here. */
export const sendResultCodec = { write: writeSendResult } as unknown as OwnCodec;
