/** Messages as the contract names their fields; 64-bit integers are decimal strings, so that nothing is rounded. */
export interface QueueMessage {
  MessageID?: string;
  ClientID?: string;
  Channel?: string;
  Metadata?: string;
  Body?: Buffer;
  Tags?: Record<string, string>;
  Policy?: {
    ExpirationSeconds?: number;
    DelaySeconds?: number;
    MaxReceiveCount?: number;
    MaxReceiveQueue?: string;
  };
}
export interface ReceivedMessage extends Required<QueueMessage> {
  Attributes: {
    Timestamp: string;
    Sequence: string;
    MD5OfBody: string;
    ReceiveCount: number;
    ReRouted: boolean;
    ReRoutedFromQueue: string;
    ExpirationAt: string;
    DelayedTo: string;
  };
}
export interface SendResult {
  MessageID: string;
  SentAt: string;
  ExpirationAt: string;
  DelayedTo: string;
  IsError: boolean;
  Error: string;
}
export interface Event {
  EventID?: string;
  ClientID?: string;
  Channel?: string;
  Metadata?: string;
  Body?: Buffer;
  Store?: boolean;
  Tags?: Record<string, string>;
}
export interface EventResult {
  EventID: string;
  Sent: boolean;
  Error: string;
}
export interface ReceivedEvent {
  EventID: string;
  Channel: string;
  Metadata: string;
  Body: Buffer;
  Timestamp: string;
  Sequence: string;
  Tags: Record<string, string>;
}
export interface Request {
  RequestID?: string;
  RequestTypeData?: number;
  ClientID?: string;
  Channel?: string;
  Metadata?: string;
  Body?: Buffer;
  ReplyChannel?: string;
  Timeout?: number;
  CacheKey?: string;
  CacheTTL?: number;
  Span?: Buffer;
  Tags?: Record<string, string>;
}
export type ReceivedRequest = Required<Request>;
export interface Response {
  ClientID?: string;
  RequestID?: string;
  ReplyChannel?: string;
  Metadata?: string;
  Body?: Buffer;
  CacheHit?: boolean;
  Timestamp?: string | number;
  Executed?: boolean;
  Error?: string;
  Span?: Buffer;
  Tags?: Record<string, string>;
}
export interface Subscribe {
  SubscribeTypeData?: number;
  ClientID?: string;
  Channel?: string;
  Group?: string;
  EventsStoreTypeData?: number;
  EventsStoreTypeValue?: string | number;
}
export interface DownstreamRequest {
  RequestID?: string;
  ClientID?: string;
  RequestTypeData: number;
  Channel?: string;
  MaxItems?: number;
  WaitTimeout?: number;
  AutoAck?: boolean;
  ReQueueChannel?: string;
  SequenceRange?: (string | number)[];
  RefTransactionId?: string;
  Metadata?: Record<string, string>;
}
export interface DownstreamResponse {
  TransactionId: string;
  RefRequestId: string;
  RequestTypeData: number;
  Messages: ReceivedMessage[];
  ActiveOffsets: string[];
  IsError: boolean;
  Error: string;
  TransactionComplete: boolean;
}
export interface UpstreamResponse {
  RefRequestID: string;
  Results: SendResult[];
  IsError: boolean;
  Error: string;
}
export interface StreamRequest {
  RequestID?: string;
  ClientID?: string;
  StreamRequestTypeData: number;
  Channel?: string;
  VisibilitySeconds?: number;
  WaitTimeSeconds?: number;
  RefSequence?: string | number;
  ModifiedMessage?: QueueMessage;
}
export interface StreamResponse {
  RequestID: string;
  StreamRequestTypeData: number;
  Message: ReceivedMessage | null;
  IsError: boolean;
  Error: string;
}
export interface ReceiveResponse {
  RequestID: string;
  Messages: ReceivedMessage[];
  MessagesReceived: number;
  MessagesExpired: number;
  IsPeak: boolean;
  IsError: boolean;
  Error: string;
}
export interface QueueInfo {
  Name: string;
  Messages: string;
  Bytes: string;
  FirstSequence: string;
  LastSequence: string;
  Sent: string;
  Delivered: string;
  Waiting: string;
  Subscribers: string;
}

export const Downstream = {
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
