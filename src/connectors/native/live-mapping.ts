import type { ChannelName } from '../../core/channel-name.js';
import type {
  LiveMessage,
  LiveReply,
  LiveRequest,
  NewEvent,
  NewRequest,
  RequestKind,
} from '../../core/live/types.js';
import { nanoseconds } from './queue-message-mapping.js';
import type {
  Event,
  EventReceive,
  OutgoingRequest,
  OutgoingResponse,
  Request,
  Response,
} from './wire/messages.js';

/** Numbers of the two kinds of requests on the wire. */
export const RequestType = { command: 1, query: 2 } as const;

/** A checked event (see rules.ts) on its way to those who listen now. */
export function newEvent(event: Event): NewEvent {
  return {
    id: event.eventId,
    clientId: event.clientId,
    channel: event.channel as ChannelName,
    metadata: event.metadata,
    tags: event.tags,
    body: event.body,
  };
}

/** A live event on its way out, under the channel name the subscriber knows it by. It has a time and no sequence. */
export function liveEventReceive(message: LiveMessage, channel: string): EventReceive {
  return {
    eventId: message.id,
    channel,
    metadata: message.metadata,
    body: message.body,
    timestamp: nanoseconds(message.sentAt),
    tags: message.tags,
  };
}

/** A checked request on its way in. What the client says of the reply channel is not looked at. */
export function newRequest(request: Request): NewRequest {
  return {
    kind: request.requestType === RequestType.command ? 'commands' : 'queries',
    id: request.requestId,
    clientId: request.clientId,
    channel: request.channel as ChannelName,
    metadata: request.metadata,
    tags: request.tags,
    body: request.body,
    timeoutMs: request.timeoutMs,
    cache:
      request.cacheKey === '' ? undefined : { key: request.cacheKey, ttlMs: request.cacheTtlSeconds * 1000 },
    trace: request.span,
  };
}

/** A request on its way to a responder, under the channel name the responder knows it by. */
export function outgoingRequest(request: LiveRequest, channel: string): OutgoingRequest {
  return {
    requestId: request.id,
    requestType: typeOf(request.kind),
    clientId: request.clientId,
    channel,
    metadata: request.metadata,
    body: request.body,
    replyChannel: request.replyTo,
    timeoutMs: request.timeoutMs,
    cacheKey: request.cache?.key,
    cacheTtlSeconds: request.cache === undefined ? 0 : request.cache.ttlMs / 1000,
    span: request.trace,
    tags: request.tags,
  };
}

function typeOf(kind: RequestKind): number {
  return kind === 'commands' ? RequestType.command : RequestType.query;
}

/** What a responder sent, checked. */
export function liveReply(response: Response): LiveReply {
  return {
    clientId: response.clientId,
    metadata: response.metadata,
    tags: response.tags,
    body: response.body,
    executed: response.executed,
    error: response.error,
    stamp: response.timestamp,
    trace: response.span,
    isCached: false,
  };
}

/** An answer on its way to the one who asked: under the id of its own request, without the address it came by. */
export function outgoingResponse(reply: LiveReply, requestId: string): OutgoingResponse {
  return {
    clientId: reply.clientId,
    requestId,
    metadata: reply.metadata,
    body: reply.body,
    cacheHit: reply.isCached,
    timestamp: reply.stamp,
    executed: reply.executed,
    error: reply.error,
    span: reply.trace,
    tags: reply.tags,
  };
}
