import { ProtobufReader, requireUtf8, tagOf, WIRE_LENGTH, WIRE_VARINT } from './protobuf.js';

/** Codecs of google.pubsub.v1.AcknowledgeRequest, ModifyAckDeadlineRequest and PullRequest. */

/** Ack ids of a request, left where they arrived: id `i` is `bytes[spans[2i], spans[2i+1])`. */
export interface AckIdList {
  readonly bytes: Uint8Array;
  readonly spans: readonly number[];
}

export interface AcknowledgeRequestView {
  readonly subscription: string;
  readonly ackIds: AckIdList;
}

export interface ModifyAckDeadlineRequestView {
  readonly subscription: string;
  readonly ackIds: AckIdList;
  readonly ackDeadlineSeconds: number;
}

export interface PullRequestView {
  readonly subscription: string;
  readonly returnImmediately: boolean;
  readonly maxMessages: number;
}

const SUBSCRIPTION = tagOf(1, WIRE_LENGTH);
const ACKNOWLEDGE_ACK_IDS = tagOf(2, WIRE_LENGTH);
const MODIFY_SECONDS = tagOf(3, WIRE_VARINT);
const MODIFY_ACK_IDS = tagOf(4, WIRE_LENGTH);
const PULL_RETURN_IMMEDIATELY = tagOf(2, WIRE_VARINT);
const PULL_MAX_MESSAGES = tagOf(3, WIRE_VARINT);

export function decodeAcknowledgeRequest(bytes: Uint8Array): AcknowledgeRequestView {
  const reader = new ProtobufReader(bytes);
  let subscription = '';
  const spans: number[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === ACKNOWLEDGE_ACK_IDS) readAckIdSpan(reader, spans);
    else if (tag === SUBSCRIPTION) subscription = reader.string();
    else reader.skip(tag);
  }
  return { subscription, ackIds: { bytes, spans } };
}

export function decodeModifyAckDeadlineRequest(bytes: Uint8Array): ModifyAckDeadlineRequestView {
  const reader = new ProtobufReader(bytes);
  let subscription = '';
  let ackDeadlineSeconds = 0;
  const spans: number[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === MODIFY_ACK_IDS) readAckIdSpan(reader, spans);
    else if (tag === MODIFY_SECONDS) ackDeadlineSeconds = reader.int32();
    else if (tag === SUBSCRIPTION) subscription = reader.string();
    else reader.skip(tag);
  }
  return { subscription, ackIds: { bytes, spans }, ackDeadlineSeconds };
}

export function decodePullRequest(bytes: Uint8Array): PullRequestView {
  const reader = new ProtobufReader(bytes);
  let subscription = '';
  let returnImmediately = false;
  let maxMessages = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === SUBSCRIPTION) subscription = reader.string();
    else if (tag === PULL_RETURN_IMMEDIATELY) returnImmediately = reader.bool();
    else if (tag === PULL_MAX_MESSAGES) maxMessages = reader.int32();
    else reader.skip(tag);
  }
  return { subscription, returnImmediately, maxMessages };
}

/** Reads a string field into a list of spans. */
export function readAckIdSpan(reader: ProtobufReader, spans: number[]): void {
  const length = reader.length();
  requireUtf8(reader.bytes, reader.at, reader.at + length);
  spans.push(reader.at, (reader.at += length));
}

export function ackIdCount(list: AckIdList): number {
  return list.spans.length / 2;
}

/** Id `index` as text, for errors and confirmations. */
export function ackIdText(list: AckIdList, index: number): string {
  const { bytes, spans } = list;
  return Buffer.from(bytes.subarray(spans[index * 2], spans[index * 2 + 1])).toString();
}
