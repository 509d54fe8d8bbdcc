import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import {
  credentials,
  InterceptingCall,
  loadPackageDefinition,
  type ChannelCredentials,
  type ClientDuplexStream,
  type ClientReadableStream,
  type Interceptor,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

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

const proto = fileURLToPath(new URL('../../src/connectors/native/wire/kubemq.proto', import.meta.url));

const definition = loadSync(proto, {
  keepCase: true,
  longs: String,
  enums: Number,
  defaults: true,
  bytes: Buffer,
});

function withToken(token: string): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, listener, next) => {
        metadata.set('authorization', token);
        next(metadata, listener);
      },
    });
}

/** A client of the native API made from its contract alone, for what the published client does not speak. */
export class NativeClient {
  readonly clientId: string;
  readonly #raw: InstanceType<ServiceClientConstructor>;

  /** `token` goes into the `authorization` of every call. */
  constructor(
    address: string,
    clientId = `test-${randomUUID()}`,
    options: { readonly credentials?: ChannelCredentials; readonly token?: string } = {},
  ) {
    const loaded = loadPackageDefinition(definition) as unknown as {
      kubemq: { kubemq: ServiceClientConstructor };
    };
    this.clientId = clientId;
    const { token } = options;
    this.#raw = new loaded.kubemq.kubemq(address, options.credentials ?? credentials.createInsecure(), {
      ...(token === undefined ? {} : { interceptors: [withToken(token)] }),
      // A body of the largest size, and what surrounds it.
      'grpc.max_receive_message_length': 101 * 1024 * 1024,
      // Each client a connection of its own, as separate programs have.
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  close(): void {
    this.#raw.close();
  }

  /** Any unary method by name. Rejects with the status as grpc-js gives it. */
  call<T>(method: string, request: object, deadlineMs = 20_000): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = this.#raw[method] as (
        request: object,
        options: object,
        done: (error: ServiceError | null, reply: T) => void,
      ) => void;
      run.call(this.#raw, request, { deadline: Date.now() + deadlineMs }, (error, reply) => {
        if (error === null) resolve(reply);
        else reject(error);
      });
    });
  }

  send(message: QueueMessage): Promise<SendResult> {
    return this.call('SendQueueMessage', { ClientID: this.clientId, ...message });
  }

  sendBatch(messages: readonly QueueMessage[]): Promise<{ Results: SendResult[]; HaveErrors: boolean }> {
    return this.call('SendQueueMessagesBatch', {
      BatchID: randomUUID(),
      Messages: messages.map((message) => ({ ClientID: this.clientId, ...message })),
    });
  }

  receive(
    channel: string,
    options: { max?: number; waitSeconds?: number; isPeek?: boolean } = {},
  ): Promise<ReceiveResponse> {
    return this.call('ReceiveQueueMessages', {
      RequestID: randomUUID(),
      ClientID: this.clientId,
      Channel: channel,
      MaxNumberOfMessages: options.max ?? 1,
      WaitTimeSeconds: options.waitSeconds ?? 1,
      IsPeak: options.isPeek ?? false,
    });
  }

  async ackAll(channel: string): Promise<number> {
    const reply = await this.call<{ AffectedMessages: string; IsError: boolean; Error: string }>(
      'AckAllQueueMessages',
      { ClientID: this.clientId, Channel: channel },
    );
    if (reply.IsError) throw new Error(reply.Error);
    return Number(reply.AffectedMessages);
  }

  async queuesInfo(names: string): Promise<{ TotalQueue: number; Queues: QueueInfo[] }> {
    const reply = await this.call<{ Info: { TotalQueue: number; Queues: QueueInfo[] } }>('QueuesInfo', {
      QueueName: names,
    });
    return reply.Info;
  }

  sendEvent(event: Event): Promise<EventResult> {
    return this.call('SendEvent', { ClientID: this.clientId, ...event });
  }

  upstream(): Stream<{ RequestID?: string; Messages: QueueMessage[] }, UpstreamResponse> {
    return new Stream(this.#duplex('QueuesUpstream'), 'RefRequestID');
  }

  downstream(): DownstreamStream {
    return new DownstreamStream(this.#duplex('QueuesDownstream'), this.clientId);
  }

  streamQueueMessage(): Stream<StreamRequest, StreamResponse> {
    return new Stream(this.#duplex('StreamQueueMessage'), 'RequestID');
  }

  eventsStream(): Stream<Event, EventResult> {
    return new Stream(this.#duplex('SendEventsStream'), 'EventID');
  }

  /** Subscribes to live events. */
  listen(request: Subscribe): Subscription {
    return this.subscribe({ SubscribeTypeData: 1, EventsStoreTypeData: 0, ...request });
  }

  /** Subscribes to an Events Store channel; from its first event unless told otherwise. */
  subscribe(request: Subscribe): Subscription {
    const open = this.#raw['SubscribeToEvents'] as (request: object) => ClientReadableStream<ReceivedEvent>;
    return new Subscription(
      open.call(this.#raw, {
        SubscribeTypeData: 2,
        ClientID: this.clientId,
        EventsStoreTypeData: 2,
        ...request,
      }),
    );
  }

  /** Subscribes to commands (type 3) or queries (4, unless told otherwise). */
  serve(request: Subscribe): Subscription<ReceivedRequest> {
    const open = this.#raw['SubscribeToRequests'] as (
      request: object,
    ) => ClientReadableStream<ReceivedRequest>;
    return new Subscription(
      open.call(this.#raw, { SubscribeTypeData: 4, ClientID: this.clientId, ...request }),
    );
  }

  /** A query, unless told otherwise. */
  ask(request: Request): Promise<Required<Response>> {
    return this.call('SendRequest', {
      RequestTypeData: 2,
      ClientID: this.clientId,
      Timeout: 5000,
      ...request,
    });
  }

  /** Answers a request; carried out, unless told otherwise. */
  respond(to: ReceivedRequest, response: Response = {}): Promise<object> {
    return this.call('SendResponse', {
      ClientID: this.clientId,
      RequestID: to.RequestID,
      ReplyChannel: to.ReplyChannel,
      Executed: true,
      ...response,
    });
  }

  #duplex<Request, Response>(method: string): ClientDuplexStream<Request, Response> {
    const open = this.#raw[method] as () => ClientDuplexStream<Request, Response>;
    return open.call(this.#raw);
  }
}

/** How a stream ended: status code and text. */
export interface StreamEnd {
  readonly code: number;
  readonly details: string;
}

/** A bidi stream: requests by id with their answers, and what came without being asked. */
export class Stream<Request extends object, Response extends object> {
  readonly unsolicited: Response[] = [];
  readonly ended: Promise<StreamEnd>;
  readonly #call: ClientDuplexStream<Request, Response>;
  readonly #waiting = new Map<string, (response: Response) => void>();
  #arrived: (() => void) | undefined;

  constructor(call: ClientDuplexStream<Request, Response>, refField: keyof Response & string) {
    this.#call = call;
    this.ended = new Promise((resolve) => {
      call.on('status', (status) => resolve({ code: status.code, details: status.details }));
    });
    call.on('error', () => undefined);
    call.on('data', (response: Response) => {
      const id = String(response[refField]);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (waiting !== undefined) waiting(response);
      else {
        this.unsolicited.push(response);
        this.#arrived?.();
      }
    });
  }

  write(request: Request): void {
    this.#call.write(request);
  }

  /** Writes a request under a fresh id and resolves with its answer; rejects when the stream ends without one. */
  request(request: Request, idField = 'RequestID'): Promise<Response> {
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      void this.ended.then((end) => reject(new Error(`stream ended: ${String(end.code)} ${end.details}`)));
      this.#call.write({ ...request, [idField]: id });
    });
  }

  /** The next answer nobody asked for. */
  async next(): Promise<Response> {
    while (this.unsolicited.length === 0) {
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
    return this.unsolicited.shift()!;
  }

  end(): void {
    this.#call.end();
  }

  cancel(): void {
    this.#call.cancel();
  }
}

export class DownstreamStream extends Stream<DownstreamRequest, DownstreamResponse> {
  readonly #clientId: string;

  constructor(call: ClientDuplexStream<DownstreamRequest, DownstreamResponse>, clientId: string) {
    super(call, 'RefRequestId');
    this.#clientId = clientId;
  }

  get(channel: string, options: Partial<DownstreamRequest> = {}): Promise<DownstreamResponse> {
    return this.request({
      RequestTypeData: Downstream.get,
      ClientID: this.#clientId,
      Channel: channel,
      MaxItems: 10,
      WaitTimeout: 1000,
      ...options,
    });
  }

  /** Settles and waits for the confirmation, which is asked for. */
  settle(
    type: number,
    transaction: string,
    options: Partial<DownstreamRequest> = {},
  ): Promise<DownstreamResponse> {
    return this.request({
      RequestTypeData: type,
      RefTransactionId: transaction,
      Metadata: { 'polymq.confirm': 'true' },
      ...options,
    });
  }
}

/** A stream of events, or of requests. */
export class Subscription<T = ReceivedEvent> {
  readonly events: T[] = [];
  readonly ended: Promise<StreamEnd>;
  readonly #call: ClientReadableStream<T>;
  readonly #waiting = new Set<() => void>();

  constructor(call: ClientReadableStream<T>) {
    this.#call = call;
    this.ended = new Promise((resolve) => {
      call.on('status', (status) => resolve({ code: status.code, details: status.details }));
    });
    call.on('error', () => undefined);
    call.on('data', (event: T) => {
      this.events.push(event);
      for (const wake of this.#waiting) wake();
    });
  }

  /** Resolves when `count` events have come in all. */
  async has(count: number): Promise<readonly T[]> {
    while (this.events.length < count) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
    return this.events;
  }

  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }

  cancel(): void {
    this.#call.cancel();
  }
}
