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
import type {
  QueueMessage,
  SendResult,
  Event,
  EventResult,
  ReceivedEvent,
  Request,
  ReceivedRequest,
  Response,
  Subscribe,
  UpstreamResponse,
  StreamRequest,
  StreamResponse,
  ReceiveResponse,
  QueueInfo,
} from './native-shapes.js';
import { Stream, DownstreamStream, Subscription } from './native-streams.js';

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
