import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { HttpExchange } from './http1/exchange.js';
import type { HttpLimits } from './http1/limits.js';
import { Http1Server } from './http1/server.js';
import { TcpListener } from './tcp-listener.js';
import type { TlsSource } from './tls-gate.js';

export { DEFAULT_HTTP_LIMITS } from './http1/limits.js';
export type { HttpLimits } from './http1/limits.js';
export type { HttpExchange } from './http1/exchange.js';

export interface HttpListenerOptions {
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** Connections are HTTPS. */
  readonly tls?: TlsSource | undefined;
  /** Answers one whole request. It owns its failures: a rejection is logged and answered with an empty 500. */
  readonly handle: (exchange: HttpExchange) => void | Promise<void>;
  /** Refuses a request whose body was over the limit (the exchange has none). */
  readonly refuseOversize: (exchange: HttpExchange) => void;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * A bare HTTP/1.1 listener: whole requests in, whole answers out, keep-alive, every limit named, and a drain that lets
 * running calls end. No routing, no framework and no `node:http`: each costs as much as the work of a call.
 */
export class HttpListener {
  readonly #server: Http1Server;
  readonly #listener: TcpListener;

  constructor(options: HttpListenerOptions) {
    const { host, port, limits, clock, log, tls } = options;
    this.#server = new Http1Server(options);
    this.#listener = new TcpListener({
      host,
      port,
      connectionsMax: limits.connectionsMax,
      clock,
      log,
      tls: tls === undefined ? undefined : { source: tls, protocols: ['http/1.1'] },
      accept: (socket) => this.#server.serve(socket, NO_BYTES),
    });
  }

  get connections(): number {
    return this.#listener.connections;
  }

  get requests(): number {
    return this.#server.requests;
  }

  get badRequests(): number {
    return this.#server.badRequests;
  }

  get refusedConnections(): number {
    return this.#listener.refusedConnections;
  }

  /** Binds; rejects with the system's error when the port is taken. */
  async start(): Promise<{ readonly host: string; readonly port: number }> {
    await this.#listener.start();
    const { address, port } = this.#listener.address;
    return { host: address, port };
  }

  /** Serves a connection that another node accepted, behind its TLS. */
  admit(socket: Socket): void {
    this.#listener.admit(socket);
  }

  /** Stops accepting, closes idle sockets, waits for running calls; resolves at the latest after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    await this.#listener.drain(graceMs);
  }

  /** Closes everything at once. Idempotent. */
  async stop(): Promise<void> {
    await this.#listener.stop();
  }
}
