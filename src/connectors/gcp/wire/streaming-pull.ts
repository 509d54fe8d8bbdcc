import { readAckIdSpan, type AckIdList } from './acknowledge.js';
import { MalformedMessage, ProtobufReader, tagOf, WIRE_LENGTH, WIRE_VARINT } from './protobuf.js';

/** Codec of google.pubsub.v1.StreamingPullRequest. */
export interface StreamingPullRequestView {
  readonly subscription: string;
  readonly ackIds: AckIdList;
  readonly modifyDeadlineSeconds: readonly number[];
  readonly modifyDeadlineAckIds: AckIdList;
  readonly streamAckDeadlineSeconds: number;
  readonly clientId: string;
  readonly maxOutstandingMessages: number;
  readonly maxOutstandingBytes: number;
  readonly protocolVersion: number;
}

const SUBSCRIPTION = tagOf(1, WIRE_LENGTH);
const ACK_IDS = tagOf(2, WIRE_LENGTH);
const MODIFY_SECONDS = tagOf(3, WIRE_VARINT);
const MODIFY_SECONDS_PACKED = tagOf(3, WIRE_LENGTH);
const MODIFY_ACK_IDS = tagOf(4, WIRE_LENGTH);
const STREAM_SECONDS = tagOf(5, WIRE_VARINT);
const CLIENT_ID = tagOf(6, WIRE_LENGTH);
const MAX_MESSAGES = tagOf(7, WIRE_VARINT);
const MAX_BYTES = tagOf(8, WIRE_VARINT);
const PROTOCOL_VERSION = tagOf(10, WIRE_VARINT);

export function decodeStreamingPullRequest(bytes: Uint8Array): StreamingPullRequestView {
  const reader = new ProtobufReader(bytes);
  const ackSpans: number[] = [];
  const modifySpans: number[] = [];
  const modifyDeadlineSeconds: number[] = [];
  const view = {
    subscription: '',
    ackIds: { bytes, spans: ackSpans },
    modifyDeadlineSeconds,
    modifyDeadlineAckIds: { bytes, spans: modifySpans },
    streamAckDeadlineSeconds: 0,
    clientId: '',
    maxOutstandingMessages: 0,
    maxOutstandingBytes: 0,
    protocolVersion: 0,
  };
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === SUBSCRIPTION) view.subscription = reader.string();
    else if (tag === ACK_IDS) readAckIdSpan(reader, ackSpans);
    else if (tag === MODIFY_SECONDS) modifyDeadlineSeconds.push(reader.int32());
    else if (tag === MODIFY_SECONDS_PACKED) readPackedInt32(reader, modifyDeadlineSeconds);
    else if (tag === MODIFY_ACK_IDS) readAckIdSpan(reader, modifySpans);
    else if (tag === STREAM_SECONDS) view.streamAckDeadlineSeconds = reader.int32();
    else if (tag === CLIENT_ID) view.clientId = reader.string();
    else if (tag === MAX_MESSAGES) view.maxOutstandingMessages = reader.int64();
    else if (tag === MAX_BYTES) view.maxOutstandingBytes = reader.int64();
    else if (tag === PROTOCOL_VERSION) view.protocolVersion = reader.int64();
    else reader.skip(tag);
  }
  return view;
}

function readPackedInt32(reader: ProtobufReader, into: number[]): void {
  const length = reader.length();
  const end = reader.at + length;
  while (reader.at < end) into.push(reader.int32());
  if (reader.at !== end) throw new MalformedMessage('packed numbers beyond their length');
}
