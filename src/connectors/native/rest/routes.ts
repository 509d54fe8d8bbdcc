import { CONFIRMED_EVENTS } from '../grpc/api.js';
import { jsonType, type JsonType } from '../wire/json.js';
import type { Fields, MessageType } from '../wire/protobuf.js';
import * as wire from '../wire/messages.js';

type AnyJson = JsonType<Fields>;

/** One request, one answer. */
export interface UnaryRoute {
  readonly kind: 'unary';
  readonly verb: 'GET' | 'POST';
  readonly path: string;
  /** Name of the operation. */
  readonly operation: string;
  readonly summary: string;
  readonly request: AnyJson;
  /** Undefined: `data` is null. */
  readonly response: AnyJson | undefined;
  /** Query parameters that fields of the request may be given in, too. */
  readonly query: Readonly<Record<string, string>>;
}

/** A WebSocket. */
export interface SocketRoute {
  readonly kind: 'subscribe' | 'stream';
  readonly verb: 'GET';
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly request: AnyJson;
  readonly response: AnyJson;
  /** Subscriptions: values of `subscribe_type`, with their numbers. */
  readonly types: Readonly<Record<string, number>>;
}

export type Route = UnaryRoute | SocketRoute;

function json<F extends Fields>(
  type: MessageType<F>,
  name: string,
  aliases?: Readonly<Record<string, string>>,
): AnyJson {
  return jsonType(type, `kubemq.${name}`, aliases);
}

// The contract's own documents call a message's id "Id".
const queueMessage = json(wire.QueueMessage, 'QueueMessage', { id: 'MessageID' });

function unary(
  verb: 'GET' | 'POST',
  path: string,
  rest: Pick<UnaryRoute, 'operation' | 'summary' | 'request'> & Partial<UnaryRoute>,
): UnaryRoute {
  return { kind: 'unary', verb, path, response: undefined, query: {}, ...rest };
}

/** Every route of the API. */
export const ROUTES: readonly Route[] = [
  unary('GET', '/ping', {
    operation: 'Ping',
    summary: 'Who answers, and since when',
    request: json(wire.Empty, 'Empty'),
    response: json(wire.PingResult, 'PingResult'),
  }),
  unary('POST', '/send/event', {
    operation: 'SendEvent',
    summary: 'Send an event; with Store, to an Events Store channel',
    request: json(wire.Event, 'Event'),
    response: json(wire.Result, 'Result'),
  }),
  unary('POST', '/send/request', {
    operation: 'SendRequest',
    summary: 'Send a command (type 1) or query (2) and wait for its answer',
    request: json(wire.Request, 'Request'),
    response: json(wire.Response, 'Response'),
  }),
  unary('POST', '/send/response', {
    operation: 'SendResponse',
    summary: 'Answer a request by its ReplyChannel',
    request: json(wire.Response, 'Response'),
  }),
  unary('POST', '/queue/send', {
    operation: 'SendQueueMessage',
    summary: 'Send a message to a queue',
    request: queueMessage,
    response: json(wire.SendQueueMessageResult, 'SendQueueMessageResult'),
  }),
  unary('POST', '/queue/send_batch', {
    operation: 'SendQueueMessagesBatch',
    summary: 'Send messages to queues',
    request: json(wire.QueueMessagesBatchRequest, 'QueueMessagesBatchRequest'),
    response: json(wire.QueueMessagesBatchResponse, 'QueueMessagesBatchResponse'),
  }),
  unary('POST', '/queue/receive', {
    operation: 'ReceiveQueueMessages',
    summary: 'Take messages from a queue, or peek at them',
    request: json(wire.ReceiveQueueMessagesRequest, 'ReceiveQueueMessagesRequest'),
    response: json(wire.ReceiveQueueMessagesResponse, 'ReceiveQueueMessagesResponse'),
  }),
  unary('POST', '/queue/ack_all', {
    operation: 'AckAllQueueMessages',
    summary: 'Drop everything that waits in a queue',
    request: json(wire.AckAllQueueMessagesRequest, 'AckAllQueueMessagesRequest'),
    response: json(wire.AckAllQueueMessagesResponse, 'AckAllQueueMessagesResponse'),
  }),
  unary('GET', '/queue/info', {
    operation: 'QueuesInfo',
    summary: 'Figures of queues: all, or those named, separated by ";"',
    request: json(wire.QueuesInfoRequest, 'QueuesInfoRequest'),
    response: json(wire.QueuesInfoResponse, 'QueuesInfoResponse'),
    query: { request_id: 'RequestID', queue_name: 'QueueName' },
  }),
  {
    kind: 'stream',
    verb: 'GET',
    path: '/send/stream',
    operation: CONFIRMED_EVENTS,
    summary: 'Send events, each answered by a Result',
    request: json(wire.Event, 'Event'),
    response: json(wire.Result, 'Result'),
    types: {},
  },
  {
    kind: 'stream',
    verb: 'GET',
    path: '/queue/stream',
    operation: 'StreamQueueMessage',
    summary: 'Receive one message, settle it or change its visibility',
    request: json(wire.StreamQueueMessagesRequest, 'StreamQueueMessagesRequest'),
    response: json(wire.StreamQueueMessagesResponse, 'StreamQueueMessagesResponse'),
    types: {},
  },
  {
    kind: 'subscribe',
    verb: 'GET',
    path: '/subscribe/events',
    operation: 'SubscribeToEvents',
    summary: 'Subscribe to live events or to an Events Store channel',
    request: json(wire.Subscribe, 'Subscribe'),
    response: json(wire.EventReceive, 'EventReceive'),
    types: { events: wire.SubscribeType.events, events_store: wire.SubscribeType.eventsStore },
  },
  {
    kind: 'subscribe',
    verb: 'GET',
    path: '/subscribe/requests',
    operation: 'SubscribeToRequests',
    summary: 'Subscribe to commands or queries; answer with POST /send/response',
    request: json(wire.Subscribe, 'Subscribe'),
    response: json(wire.Request, 'Request'),
    types: { commands: wire.SubscribeType.commands, queries: wire.SubscribeType.queries },
  },
];
