import {
  bool,
  bytes,
  count,
  counts,
  int32,
  int64,
  message,
  nested,
  repeated,
  string,
  stringMap,
} from './protobuf.js';
import type { Decoded, Encodable, MessageType } from './protobuf.js';
import { queueMessageCodec, sendResultCodec } from './queue-message-codec.js';

/** The messages of `kubemq.proto`, beside this file. Times are Unix nanoseconds unless a name says otherwise. */

type DecodedOf<T> = T extends MessageType<infer F> ? Decoded<F> : never;
type EncodableOf<T> = T extends MessageType<infer F> ? Encodable<F> : never;

export const Empty = message({});

export const PingResult = message({
  host: string(1),
  version: string(2),
  /** Unix seconds. */
  serverStartTime: count(3),
  serverUpTimeSeconds: count(4),
});

// Events --------------------------------------------------------------------------------------------------------

export const Result = message({ eventId: string(1), sent: bool(2), error: string(3) });
export type Result = EncodableOf<typeof Result>;

export const Event = message({
  eventId: string(1),
  clientId: string(2),
  channel: string(3),
  metadata: string(4),
  body: bytes(5),
  store: bool(6),
  tags: stringMap(7),
});
export type Event = DecodedOf<typeof Event>;

export const EventReceive = message({
  eventId: string(1),
  channel: string(2),
  metadata: string(3),
  body: bytes(4),
  timestamp: int64(5),
  sequence: count(6),
  tags: stringMap(7),
});
export type EventReceive = EncodableOf<typeof EventReceive>;

export const SubscribeType = { undefined: 0, events: 1, eventsStore: 2, commands: 3, queries: 4 } as const;
export const EventsStoreType = {
  undefined: 0,
  startNewOnly: 1,
  startFromFirst: 2,
  startFromLast: 3,
  startAtSequence: 4,
  startAtTime: 5,
  startAtTimeDelta: 6,
} as const;

export const Subscribe = message({
  subscribeType: int32(1),
  clientId: string(2),
  channel: string(3),
  group: string(4),
  eventsStoreType: int32(5),
  eventsStoreValue: int64(6),
});
export type Subscribe = DecodedOf<typeof Subscribe>;

// Commands and queries ------------------------------------------------------------------------------------------

export const Request = message({
  requestId: string(1),
  requestType: int32(2),
  clientId: string(3),
  channel: string(4),
  metadata: string(5),
  body: bytes(6),
  replyChannel: string(7),
  timeoutMs: int32(8),
  cacheKey: string(9),
  cacheTtlSeconds: int32(10),
  span: bytes(11),
  tags: stringMap(12),
});
export type Request = DecodedOf<typeof Request>;
export type OutgoingRequest = EncodableOf<typeof Request>;

export const Response = message({
  clientId: string(1),
  requestId: string(2),
  replyChannel: string(3),
  metadata: string(4),
  body: bytes(5),
  cacheHit: bool(6),
  timestamp: int64(7),
  executed: bool(8),
  error: string(9),
  span: bytes(10),
  tags: stringMap(11),
});
export type Response = DecodedOf<typeof Response>;
export type OutgoingResponse = EncodableOf<typeof Response>;

// Queues --------------------------------------------------------------------------------------------------------

export const QueueMessageAttributes = message({
  timestamp: int64(1),
  sequence: count(2),
  md5OfBody: string(3),
  receiveCount: int32(4),
  reRouted: bool(5),
  reRoutedFromQueue: string(6),
  expirationAt: int64(7),
  delayedTo: int64(8),
});

export const QueueMessagePolicy = message({
  expirationSeconds: int32(1),
  delaySeconds: int32(2),
  maxReceiveCount: int32(3),
  maxReceiveQueue: string(4),
});
export type QueueMessagePolicy = DecodedOf<typeof QueueMessagePolicy>;

export const QueueMessage = message(
  {
    messageId: string(1),
    clientId: string(2),
    channel: string(3),
    metadata: string(4),
    body: bytes(5),
    tags: stringMap(6),
    attributes: nested(7, QueueMessageAttributes),
    policy: nested(8, QueueMessagePolicy),
    topic: string(9),
    partition: int32(10),
    partitionKey: string(11),
  },
  queueMessageCodec({ attributes: QueueMessageAttributes, policy: QueueMessagePolicy }),
);
export type QueueMessage = DecodedOf<typeof QueueMessage>;
export type OutgoingQueueMessage = EncodableOf<typeof QueueMessage>;

export const SendQueueMessageResult = message(
  {
    messageId: string(1),
    sentAt: int64(2),
    expirationAt: int64(3),
    delayedTo: int64(4),
    isError: bool(5),
    error: string(6),
    refChannel: string(7),
    refTopic: string(8),
    refPartition: int32(9),
    refHash: string(10),
  },
  sendResultCodec,
);
export type SendQueueMessageResult = EncodableOf<typeof SendQueueMessageResult>;

export const QueueMessagesBatchRequest = message({ batchId: string(1), messages: repeated(2, QueueMessage) });
export type QueueMessagesBatchRequest = DecodedOf<typeof QueueMessagesBatchRequest>;

export const QueueMessagesBatchResponse = message({
  batchId: string(1),
  results: repeated(2, SendQueueMessageResult),
  haveErrors: bool(3),
});
export type QueueMessagesBatchResponse = EncodableOf<typeof QueueMessagesBatchResponse>;

export const ReceiveQueueMessagesRequest = message({
  requestId: string(1),
  clientId: string(2),
  channel: string(3),
  maxNumberOfMessages: int32(4),
  waitTimeSeconds: int32(5),
  isPeek: bool(6),
});
export type ReceiveQueueMessagesRequest = DecodedOf<typeof ReceiveQueueMessagesRequest>;

export const ReceiveQueueMessagesResponse = message({
  requestId: string(1),
  messages: repeated(2, QueueMessage),
  messagesReceived: int32(3),
  messagesExpired: int32(4),
  isPeek: bool(5),
  isError: bool(6),
  error: string(7),
});
export type ReceiveQueueMessagesResponse = EncodableOf<typeof ReceiveQueueMessagesResponse>;

export const AckAllQueueMessagesRequest = message({
  requestId: string(1),
  clientId: string(2),
  channel: string(3),
  waitTimeSeconds: int32(4),
});
export type AckAllQueueMessagesRequest = DecodedOf<typeof AckAllQueueMessagesRequest>;

export const AckAllQueueMessagesResponse = message({
  requestId: string(1),
  affectedMessages: count(2),
  isError: bool(3),
  error: string(4),
});
export type AckAllQueueMessagesResponse = EncodableOf<typeof AckAllQueueMessagesResponse>;

export const StreamRequestType = {
  unknown: 0,
  receiveMessage: 1,
  ackMessage: 2,
  rejectMessage: 3,
  modifyVisibility: 4,
  resendMessage: 5,
  sendModifiedMessage: 6,
} as const;

export const StreamQueueMessagesRequest = message({
  requestId: string(1),
  clientId: string(2),
  requestType: int32(3),
  channel: string(4),
  visibilitySeconds: int32(5),
  waitTimeSeconds: int32(6),
  refSequence: count(7),
  modifiedMessage: nested(8, QueueMessage),
});
export type StreamQueueMessagesRequest = DecodedOf<typeof StreamQueueMessagesRequest>;

export const StreamQueueMessagesResponse = message({
  requestId: string(1),
  requestType: int32(2),
  message: nested(3, QueueMessage),
  isError: bool(4),
  error: string(5),
});
export type StreamQueueMessagesResponse = EncodableOf<typeof StreamQueueMessagesResponse>;

export const QueuesUpstreamRequest = message({ requestId: string(1), messages: repeated(2, QueueMessage) });
export type QueuesUpstreamRequest = DecodedOf<typeof QueuesUpstreamRequest>;

export const QueuesUpstreamResponse = message({
  refRequestId: string(1),
  results: repeated(2, SendQueueMessageResult),
  isError: bool(3),
  error: string(4),
});
export type QueuesUpstreamResponse = EncodableOf<typeof QueuesUpstreamResponse>;

export const DownstreamType = {
  unknown: 0,
  get: 1,
  ackAll: 2,
  ackRange: 3,
  nackAll: 4,
  nackRange: 5,
  reQueueAll: 6,
  reQueueRange: 7,
  activeOffsets: 8,
  transactionStatus: 9,
  closeByClient: 10,
  closeByServer: 11,
} as const;

export const QueuesDownstreamRequest = message({
  requestId: string(1),
  clientId: string(2),
  requestType: int32(3),
  channel: string(4),
  maxItems: int32(5),
  waitTimeoutMs: int32(6),
  autoAck: bool(7),
  reQueueChannel: string(8),
  sequenceRange: counts(9),
  refTransactionId: string(10),
  metadata: stringMap(12),
});
export type QueuesDownstreamRequest = DecodedOf<typeof QueuesDownstreamRequest>;

export const QueuesDownstreamResponse = message({
  transactionId: string(1),
  refRequestId: string(2),
  requestType: int32(3),
  messages: repeated(4, QueueMessage),
  activeOffsets: counts(5),
  isError: bool(6),
  error: string(7),
  transactionComplete: bool(8),
  metadata: stringMap(9),
});
export type QueuesDownstreamResponse = EncodableOf<typeof QueuesDownstreamResponse>;

export const QueueInfo = message({
  name: string(1),
  messages: count(2),
  bytes: count(3),
  firstSequence: count(4),
  lastSequence: count(5),
  sent: count(6),
  delivered: count(7),
  waiting: count(8),
  subscribers: count(9),
});

export const QueuesInfo = message({
  totalQueue: int32(1),
  sent: count(2),
  delivered: count(3),
  waiting: count(4),
  queues: repeated(5, QueueInfo),
});

export const QueuesInfoRequest = message({ requestId: string(1), queueName: string(2) });
export type QueuesInfoRequest = DecodedOf<typeof QueuesInfoRequest>;

export const QueuesInfoResponse = message({ refRequestId: string(1), info: nested(2, QueuesInfo) });
export type QueuesInfoResponse = EncodableOf<typeof QueuesInfoResponse>;
