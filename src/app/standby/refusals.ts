import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { Server, Socket } from 'node:net';
import type { ListenerPlan } from '../listeners.js';

/** What clients are told while no node serves. */
export const NOBODY_SERVES = 'no node serves at the moment';
const GRPC_UNAVAILABLE = '14';

/** Answers clients that cannot be served now with what their protocol tries again: HTTP 503, gRPC UNAVAILABLE, else a closed connection. */
export class Refusals {
  readonly #servers: Readonly<Record<'aws' | 'http' | 'grpc', Server>> = {
    aws: awsServer(),
    http: httpServer(),
    grpc: grpcServer(),
  };

  /** Takes over a socket that was paused. */
  take(kind: ListenerPlan['refusal'], socket: Socket): void {
    if (kind === 'close') {
      socket.destroy();
      return;
    }
    this.#servers[kind].emit('connection', socket);
    socket.resume();
  }
}

function httpServer(): Server {
  return createHttpServer((request, response) => {
    request.resume();
    response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1', connection: 'close' });
    response.end(JSON.stringify({ error: 'unavailable', message: NOBODY_SERVES }));
  });
}

function awsServer(): Server {
  return createHttpServer((request, response) => {
    request.resume();
    const isJson = request.headers['content-type']?.startsWith('application/x-amz-json') === true;
    response.writeHead(503, {
      'content-type': isJson ? 'application/x-amz-json-1.0' : 'text/xml',
      'retry-after': '1',
      connection: 'close',
    });
    response.end(
      isJson
        ? JSON.stringify({ __type: 'com.amazonaws.sqs#ServiceUnavailable', message: NOBODY_SERVES })
        : `<ErrorResponse><Error><Type>Receiver</Type><Code>ServiceUnavailable</Code><Message>${NOBODY_SERVES}</Message></Error></ErrorResponse>`,
    );
  });
}

function grpcServer(): Server {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.on('error', () => stream.destroy());
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': GRPC_UNAVAILABLE,
        'grpc-message': NOBODY_SERVES,
      },
      { endStream: true },
    );
    // The next call is to try another way: this connection would say the same for ever.
    stream.session?.close();
  });
  server.on('unknownProtocol', (socket: Socket) => {
    socket.end(
      'HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    );
  });
  return server;
}
