import type { GrpcServer } from '../../kit/grpc/server.js';
import type { AnyHandler } from '../../kit/grpc-call.js';
import type { AnyMessageCodec, CallKind, MessageCodec } from '../../kit/grpc-service.js';
import { GroupReaders } from '../operations/group-reader.js';
import type { NativeService } from '../service.js';
import * as wire from '../wire/messages.js';
import { ackAllQueueMessages } from '../operations/ack-all-queue-messages.js';
import { unary } from './calls.js';
import { ping } from '../operations/ping.js';
import { queuesDownstream } from '../operations/queues-downstream.js';
import { queuesInfo } from '../operations/queues-info.js';
import { queuesUpstream } from '../operations/queues-upstream.js';
import { receiveQueueMessages } from '../operations/receive-queue-messages.js';
import { refuseRequest, refuseRequests } from '../operations/requests.js';
import { sendEvent, sendEventsStream } from '../operations/send-event.js';
import { sendQueueMessage, sendQueueMessagesBatch } from '../operations/send-queue-messages.js';
import { streamQueueMessage } from '../operations/stream-queue-message.js';
import { subscribeToEvents } from '../operations/subscribe-to-events.js';

interface Operation {
  readonly kind: CallKind;
  readonly request: AnyMessageCodec;
  readonly response: AnyMessageCodec;
  readonly handler: AnyHandler;
}

/** Adds every method of `kubemq.kubemq` to a gRPC server. */
export function addNativeApi(server: GrpcServer, service: NativeService): void {
  const operations = Object.entries(operationsOf(service));
  server.addService(
    Object.fromEntries(
      operations.map(([name, { kind, request, response }]) => [
        name,
        { path: `/kubemq.kubemq/${name}`, kind, request, response },
      ]),
    ),
    Object.fromEntries(operations.map(([name, { handler }]) => [name, handler])),
  );
}

function operationsOf(service: NativeService): Record<string, Operation> {
  const groups = new GroupReaders(service.broker);
  return {
    Ping: operation('unary', wire.Empty, wire.PingResult, unary(ping(service))),
    SendEvent: operation('unary', wire.Event, wire.Result, unary(sendEvent(service))),
    SendEventsStream: operation('bidi', wire.Event, wire.Result, sendEventsStream(service)),
    SubscribeToEvents: operation(
      'server-stream',
      wire.Subscribe,
      wire.EventReceive,
      subscribeToEvents(service, groups),
    ),
    SubscribeToRequests: operation('server-stream', wire.Subscribe, wire.Request, refuseRequests()),
    SendRequest: operation('unary', wire.Request, wire.Response, unary(refuseRequest())),
    SendResponse: operation('unary', wire.Response, wire.Empty, unary(refuseRequest())),
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
