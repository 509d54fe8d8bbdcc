import type { GrpcServer } from '../../kit/grpc/server.js';
import type { Client } from '../../../core/access/gatekeeper.js';
import type { AnyHandler, ServiceHandlers } from '../../kit/grpc-call.js';
import { clientHandlers } from '../../kit/grpc-clients.js';
import { reflectionHandlers, reflectionService } from '../../kit/grpc/reflection.js';
import { ANONYMOUS } from '../../kit/identity.js';
import { claimedClientId, requireAccess, stampClientId } from '../access.js';
import { nativeStatus } from '../errors.js';
import type { AnyMessageCodec, CallKind, MessageCodec, ServiceDefinition } from '../../kit/grpc-service.js';
import type { GroupReaders } from '../operations/group-reader.js';
import type { NativeService } from '../service.js';
import type { Sessions } from '../sessions.js';
import { protoFiles } from '../wire/descriptor.js';
import * as wire from '../wire/messages.js';
import { ackAllQueueMessages } from '../operations/ack-all-queue-messages.js';
import { unary } from './calls.js';
import { healthHandlers, healthService } from './health.js';
import { ping } from '../operations/ping.js';
import { queuesDownstream } from '../operations/queues-downstream.js';
import { queuesInfo } from '../operations/queues-info.js';
import { queuesUpstream } from '../operations/queues-upstream.js';
import { receiveQueueMessages } from '../operations/receive-queue-messages.js';
import { sendEvent } from '../operations/send-event.js';
import { sendEventsStream } from '../operations/send-events-stream.js';
import { sendQueueMessage, sendQueueMessagesBatch } from '../operations/send-queue-messages.js';
import { sendRequest } from '../operations/send-request.js';
import { sendResponse } from '../operations/send-response.js';
import { streamQueueMessage } from '../operations/stream-queue-message.js';
import { subscribeToEvents } from '../operations/subscribe-to-events.js';
import { subscribeToRequests } from '../operations/subscribe-to-requests.js';

interface Operation {
  readonly kind: CallKind;
  readonly request: AnyMessageCodec;
  readonly response: AnyMessageCodec;
  readonly handler: AnyHandler;
}

/** The operations of the native API by name, behind who may call them; for every transport. */
export interface NativeApi {
  readonly definition: ServiceDefinition;
  readonly handlers: ServiceHandlers;
}

/** `groups`: the readers that all transports share. */
export function nativeApi(service: NativeService, groups: GroupReaders): NativeApi {
  const operationsFor = (client: Client): readonly (readonly [string, Operation])[] => {
    const own = { ...service, client, broker: client.broker };
    return Object.entries({ ...liveOperations(own, groups), ...queueOperations(own) });
  };
  const { gate, identity, certificates } = service;
  const definition = Object.fromEntries(
    operationsFor(gate.clientOf(ANONYMOUS)).map(([name, { kind, request, response }]) => [
      name,
      { path: `/kubemq.kubemq/${name}`, kind, request, response },
    ]),
  );
  const handlers = clientHandlers({
    service: definition,
    gate,
    identity,
    certificates,
    handlersOf: (client) =>
      Object.fromEntries(operationsFor(client).map(([name, { handler }]) => [name, handler])),
    // Clients look whether a broker is there before they have anything to show.
    open: new Set(['Ping']),
    refusal: nativeStatus,
    check: requireAccess,
    claimed: claimedClientId,
    stamp: stampClientId,
  });
  return { definition, handlers };
}

/** Adds the service `kubemq.kubemq` to a gRPC server, and the services that tools look for: health and reflection. */
export function addNativeApi(
  server: GrpcServer,
  { definition, handlers }: NativeApi,
  sessions: Sessions,
): void {
  const { [CONFIRMED_EVENTS]: _, ...served } = definition;
  server.addService(served, handlers);
  server.addService(healthService, healthHandlers(sessions));
  server.addService(
    reflectionService,
    reflectionHandlers(protoFiles(), (drain) => sessions.enter({ drain })),
  );
}

/** SendEventsStream as WebSockets have it: each event is answered. No method of the gRPC service. */
export const CONFIRMED_EVENTS = 'SendEventsStreamConfirmed';

/** Ping, events and requests. */
function liveOperations(service: NativeService, groups: GroupReaders): Record<string, Operation> {
  return {
    Ping: operation('unary', wire.Empty, wire.PingResult, unary(ping(service))),
    SendEvent: operation('unary', wire.Event, wire.Result, unary(sendEvent(service))),
    SendEventsStream: operation(
      'bidi',
      wire.Event,
      wire.Result,
      sendEventsStream(service, { confirmLive: false }),
    ),
    [CONFIRMED_EVENTS]: operation(
      'bidi',
      wire.Event,
      wire.Result,
      sendEventsStream(service, { confirmLive: true }),
    ),
    SubscribeToEvents: operation(
      'server-stream',
      wire.Subscribe,
      sharingBytes(wire.EventReceive),
      subscribeToEvents(service, groups),
    ),
    SubscribeToRequests: operation(
      'server-stream',
      wire.Subscribe,
      wire.Request,
      subscribeToRequests(service),
    ),
    SendRequest: operation('unary', wire.Request, wire.Response, unary(sendRequest(service))),
    SendResponse: operation('unary', wire.Response, wire.Empty, unary(sendResponse(service))),
  };
}

function queueOperations(service: NativeService): Record<string, Operation> {
  return {
    SendQueueMessage: operation(
      'unary',
      wire.QueueMessage,
      wire.SendQueueMessageResult,
      unary(sendQueueMessage(service)),
    ),
    SendQueueMessagesBatch: operation(
      'unary',
      wire.QueueMessagesBatchRequest,
      wire.QueueMessagesBatchResponse,
      unary(sendQueueMessagesBatch(service)),
    ),
    ReceiveQueueMessages: operation(
      'unary',
      wire.ReceiveQueueMessagesRequest,
      wire.ReceiveQueueMessagesResponse,
      unary(receiveQueueMessages(service)),
    ),
    StreamQueueMessage: operation(
      'bidi',
      wire.StreamQueueMessagesRequest,
      wire.StreamQueueMessagesResponse,
      streamQueueMessage(service),
    ),
    AckAllQueueMessages: operation(
      'unary',
      wire.AckAllQueueMessagesRequest,
      wire.AckAllQueueMessagesResponse,
      unary(ackAllQueueMessages(service)),
    ),
    QueuesDownstream: operation(
      'bidi',
      wire.QueuesDownstreamRequest,
      wire.QueuesDownstreamResponse,
      queuesDownstream(service),
    ),
    QueuesUpstream: operation(
      'bidi',
      wire.QueuesUpstreamRequest,
      wire.QueuesUpstreamResponse,
      queuesUpstream(service),
    ),
    QueuesInfo: operation(
      'unary',
      wire.QueuesInfoRequest,
      wire.QueuesInfoResponse,
      unary(queuesInfo(service)),
    ),
  };
}

function operation<Request, Response>(
  kind: CallKind,
  request: MessageCodec<Request>,
  response: MessageCodec<Response>,
  handler: AnyHandler,
): Operation {
  return {
    kind,
    request: request,
    response: response,
    handler,
  };
}

/** A codec that does not encode again what it encoded last: one event goes to many subscribers. */
function sharingBytes<T>(codec: MessageCodec<T>): MessageCodec<T> {
  let last: T | undefined;
  let bytes: Uint8Array = new Uint8Array(0);
  return {
    encode: (value) => {
      if (value !== last) {
        bytes = codec.encode(value);
        last = value;
      }
      return bytes;
    },
    decode: (from) => codec.decode(from),
  };
}
