import type { Socket } from 'node:net';
import type { Clock } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import { DEFAULT_HTTP_LIMITS } from '../../kit/http-listener.js';
import type { Http1Connection } from '../../kit/http1/connection.js';
import { Http1Server } from '../../kit/http1/server.js';
import { HOT_CODECS } from '../wire/hot-codecs.js';
import { RestGateway, type Page, type RestService } from './gateway.js';

const NO_BYTES = Buffer.alloc(0);

/** Base64 makes four bytes of three; what is around it takes some more. */
const BODY_GROWTH = 4 / 3;
const BODY_MARGIN_BYTES = 2 * 1024 * 1024;

export interface RestServerOptions {
  readonly services: readonly RestService[];
  /** Documents beside the API, by path. */
  readonly pages?: ReadonlyMap<string, Page>;
  /** Largest publish request, in its binary form. */
  readonly maxMessageBytes: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** The HTTP/1.1 connections of the gRPC port. */
export class RestServer {
  readonly #http: Http1Server;
  readonly #connections = new Set<Http1Connection>();
  #isDraining = false;

  constructor(options: RestServerOptions) {
    const { services, maxMessageBytes, clock, log, pages = new Map<string, Page>() } = options;
    const bodyBytesMax = Math.ceil(maxMessageBytes * BODY_GROWTH) + BODY_MARGIN_BYTES;
    const gateway = new RestGateway({ services, codecs: HOT_CODECS, pages, bodyBytesMax });
    this.#http = new Http1Server({
      limits: { ...DEFAULT_HTTP_LIMITS, bodyBytesMax },
      clock,
      log,
      handle: (exchange) => gateway.handle(exchange),
      refuseOversize: (exchange) => gateway.refuseOversize(exchange),
    });
  }

  /** Requests so far. */
  get requests(): number {
    return this.#http.requests;
  }

  /** Takes a connection over. */
  serve(socket: Socket): void {
    const connection = this.#http.serve(socket, NO_BYTES);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
    if (this.#isDraining) connection.drain();
  }

  /** Connections end as soon as what they asked is answered. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#connections) connection.drain();
  }
}
