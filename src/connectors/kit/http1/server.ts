import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import { nextTurn } from '../../../base/turn.js';
import { Http1Connection } from './connection.js';
import type { ConnectionHost } from './connection.js';
import type { HttpExchange } from './exchange.js';
import type { HttpLimits } from './limits.js';
import { ResponseHeads } from './response.js';

export interface Http1ServerOptions {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** Answers one whole request. It owns its failures: a rejection is logged and answered with an empty 500. */
  readonly handle: (exchange: HttpExchange) => void | Promise<void>;
  /** Refuses a request whose body was over the limit (the exchange has none). */
  readonly refuseOversize: (exchange: HttpExchange) => void;
}

/** How often timeouts are looked for. One timer serves all connections, so idle ones cost nothing. */
const SWEEP_MS = 500;

/** Serves HTTP/1.1 on sockets that others accepted. */
export class Http1Server implements ConnectionHost {
  readonly #options: Http1ServerOptions;
  readonly #connections = new Set<Http1Connection>();
  #sweep: Timer | undefined;
  #sweepAt = 0;
  readonly heads: ResponseHeads;
  /** Plain counters, read at scrape time. */
  requests = 0;
  badRequests = 0;

  constructor(options: Http1ServerOptions) {
    this.#options = options;
    this.heads = new ResponseHeads(options.clock);
  }

  get limits(): HttpLimits {
    return this.#options.limits;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /** Takes a socket over, with the bytes that were read from it already. */
  serve(socket: Socket, head: Buffer): Http1Connection {
    const connection = new Http1Connection(socket, this);
    this.#connections.add(connection);
    if (this.#sweep === undefined) this.#armSweep();
    connection.start(head);
    return connection;
  }

  onRequest(exchange: HttpExchange, isOversize: boolean): void {
    this.requests++;
    try {
      if (isOversize) {
        this.#options.refuseOversize(exchange);
        return;
      }
      const running = this.#options.handle(exchange);
      if (running !== undefined) running.catch((error: unknown) => this.#onFailure(exchange, error));
    } catch (error) {
      this.#onFailure(exchange, error);
    }
  }

  onRefusal(): void {
    this.badRequests++;
  }

  onClose(connection: Http1Connection): void {
    this.#connections.delete(connection);
    if (this.#connections.size > 0) return;
    this.#sweep?.cancel();
    this.#sweep = undefined;
  }

  #onFailure(exchange: HttpExchange, error: unknown): void {
    this.#options.log.error('http handler failed', { error });
    exchange.reply(500, [], '');
  }

  #armSweep(): void {
    this.#sweepAt = this.clock.now() + SWEEP_MS;
    this.#sweep = this.clock.after(SWEEP_MS, () => this.#onSweep());
  }

  #onSweep(): void {
    this.#sweep = undefined;
    // The process stood still: what peers sent meanwhile comes before what they are late with.
    if (this.clock.now() - this.#sweepAt >= SWEEP_MS) void nextTurn().then(() => this.#look());
    else this.#look();
    if (this.#connections.size > 0) this.#armSweep();
  }

  #look(): void {
    const now = this.clock.now();
    for (const connection of this.#connections) connection.sweep(now);
  }
}
