import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { statusOnly } from '../../connectors/kit/grpc/header-blocks.js';
import { status } from '../../connectors/kit/grpc-status.js';
import { Http2Connection } from '../../connectors/kit/http2/connection.js';
import { HTTP2_LIMITS } from '../../connectors/kit/http2/limits.js';
import { PrefaceReader } from '../../connectors/kit/http2/preface.js';
import type { ListenerPlan } from '../listeners.js';

/** What clients are told while no node serves. */
export const NOBODY_SERVES = 'no node serves at the moment';
/** A connection that has not heard its refusal by then, or not gone, is cut. */
const REFUSAL_MS = 5_000;

/** Answers clients that cannot be served now with what their protocol tries again: HTTP 503, gRPC UNAVAILABLE, else a closed connection. */
export class Refusals {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #servers = { aws: awsServer(), http: httpServer() };

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Takes over a socket that was paused. */
  take(kind: ListenerPlan['refusal'], socket: Socket): void {
    if (kind === 'close') {
      socket.destroy();
      return;
    }
    const timer = this.#clock.after(REFUSAL_MS, () => socket.destroy());
    socket.once('close', () => timer.cancel());
    if (kind === 'grpc') this.#takeEither(socket);
    else this.#servers[kind].emit('connection', socket);
    socket.resume();
  }

  /** The ports of gRPC serve HTTP/1, too. */
  #takeEither(socket: Socket): void {
    const preface = new PrefaceReader();
    const read = (chunk: Buffer): void => {
      const greeting = preface.push(chunk);
      if (greeting.kind === 'unknown-yet') return;
      socket.off('data', read);
      if (greeting.kind === 'http2') {
        this.#refuseCalls(socket, greeting.rest);
        return;
      }
      socket.pause();
      socket.unshift(greeting.bytes);
      this.#servers.http.emit('connection', socket);
      socket.resume();
    };
    socket.on('data', read);
  }

  #refuseCalls(socket: Socket, rest: Buffer): void {
    const [clock, log] = [this.#clock, this.#log];
    const connection = new Http2Connection({
      socket,
      limits: HTTP2_LIMITS,
      clock,
      log,
      open: (stream) => {
        stream.respond(statusOnly({ code: status.UNAVAILABLE, details: NOBODY_SERVES }), true);
        // The next call is to look for a way again.
        connection.drain();
        return undefined;
      },
    });
    socket.on('data', (chunk: Buffer) => connection.read(chunk));
    socket.once('close', () => connection.gone());
    connection.read(rest);
  }
}

function httpServer(): Server {
  return createServer((request, response) => {
    request.resume();
    response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1', connection: 'close' });
    response.end(JSON.stringify({ error: 'unavailable', message: NOBODY_SERVES }));
  });
}

function awsServer(): Server {
  return createServer((request, response) => {
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
