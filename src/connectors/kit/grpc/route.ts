import { fieldOf, type RequestHead } from '../http2/request-head.js';
import { status, type GrpcStatus } from '../grpc-status.js';
import type { MethodDefinition } from '../grpc-service.js';
import type { AnyHandler } from './handlers.js';
import type { Compression } from './message-reader.js';
import { timeoutMs } from './timeout.js';

/** A method and who serves it. */
export interface ServedMethod {
  readonly method: MethodDefinition;
  readonly handler: AnyHandler;
}

/** What a request's head asks for. */
export interface Route extends ServedMethod {
  readonly compression: Compression;
  readonly timeoutMs: number | undefined;
}

/** Why a request has no route: it is no gRPC, or its call ends at once with a status. */
export type Refusal = 'not-grpc' | GrpcStatus;

const CONTENT_TYPE = /^application\/grpc(?:$|[+;])/;
const ACCEPTED = [['grpc-accept-encoding', 'identity,gzip']] as const;

export function routeOf(head: RequestHead, methods: ReadonlyMap<string, ServedMethod>): Route | Refusal {
  const { fields } = head;
  if (head.isTooLarge)
    return { code: status.RESOURCE_EXHAUSTED, details: 'Received metadata larger than max' };
  if (head.method !== 'POST' || !CONTENT_TYPE.test(fieldOf(fields, 'content-type') ?? '')) return 'not-grpc';
  const served = methods.get(head.path);
  if (served === undefined) {
    return { code: status.UNIMPLEMENTED, details: `The server does not implement the method ${head.path}` };
  }
  const compression = fieldOf(fields, 'grpc-encoding') ?? 'identity';
  if (compression !== 'identity' && compression !== 'gzip') {
    const details = `Message compression ${compression} is not supported`;
    return { code: status.UNIMPLEMENTED, details, trailers: ACCEPTED };
  }
  const timeout = fieldOf(fields, 'grpc-timeout');
  const ms = timeout === undefined ? undefined : timeoutMs(timeout);
  if (timeout !== undefined && ms === undefined)
    return { code: status.INTERNAL, details: 'Malformed grpc-timeout' };
  return { method: served.method, handler: served.handler, compression, timeoutMs: ms };
}

export function isRefusal(route: Route | Refusal): route is Refusal {
  return route === 'not-grpc' || 'code' in route;
}
