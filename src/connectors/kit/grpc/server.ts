import type { Clock } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import type { ServiceDefinition } from '../grpc-service.js';
import type { RequestHead } from '../http2/request-head.js';
import type { Http2Stream, StreamServer } from '../http2/stream.js';
import { BidiServerCall } from './bidi-call.js';
import type { CallContext } from './context.js';
import { Deadlines } from './deadlines.js';
import type { ServiceHandlers } from './handlers.js';
import { statusOnly } from './header-blocks.js';
import { NotGrpcRequest } from './not-grpc-request.js';
import { PlainRequest, type PlainRequests } from './plain-request.js';
import { isRefusal, routeOf, type Refusal, type Route, type ServedMethod } from './route.js';
import { ServerStreamServerCall, UnaryServerCall } from './single-request-calls.js';

export interface GrpcServerOptions {
  readonly maxReceiveBytes: number;
  /** Bytes of unfinished messages on one connection. */
  readonly heldBytesMax: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Serves what is no gRPC. Without it such requests are told what this port is. */
  readonly plain?: PlainRequests | undefined;
}

/** The services of a listener, and how requests come to their handlers. */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #methods = new Map<string, ServedMethod>();
  readonly #deadlines: Deadlines;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.clock);
  }

  /** Adds a service. Methods without a handler answer UNIMPLEMENTED. */
  addService(service: ServiceDefinition, handlers: ServiceHandlers): void {
    for (const [name, method] of Object.entries(service)) {
      const handler = handlers[name];
      if (handler !== undefined) this.#methods.set(method.path, { method, handler });
    }
  }

  /** What opens the calls of one connection; `peerName` is the name in its client certificate. */
  connection(peerName?: string): (stream: Http2Stream, head: RequestHead) => StreamServer | undefined {
    const { maxReceiveBytes, heldBytesMax, log, plain } = this.#options;
    const context: CallContext = {
      maxReceiveBytes,
      heldBytesMax: heldBytesMax + maxReceiveBytes,
      deadlines: this.#deadlines,
      log,
      heldBytes: 0,
      peerName,
    };
    // Calls of one client mostly have one and the same head.
    let lastHead: RequestHead | undefined;
    let lastRoute: Route | Refusal = 'not-grpc';
    return (stream, head) => {
      if (head !== lastHead) {
        lastRoute = routeOf(head, this.#methods);
        lastHead = head;
      }
      if (!isRefusal(lastRoute)) return openCall(stream, head, lastRoute, context);
      if (lastRoute === 'not-grpc') {
        return plain === undefined
          ? new NotGrpcRequest(stream)
          : new PlainRequest(stream, head, plain, context);
      }
      stream.respond(statusOnly(lastRoute), true);
      return undefined;
    };
  }

  stop(): void {
    this.#deadlines.stop();
  }
}

function openCall(stream: Http2Stream, head: RequestHead, route: Route, context: CallContext): StreamServer {
  switch (route.method.kind) {
    case 'unary':
      return new UnaryServerCall(stream, head, route, context);
    case 'server-stream':
      return new ServerStreamServerCall(stream, head, route, context);
    case 'bidi': {
      const call = new BidiServerCall(stream, head, route, context);
      stream.server = call;
      call.open();
      return call;
    }
  }
}
