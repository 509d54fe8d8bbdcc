import type { Socket } from 'node:net';
import type { Clock } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import type { PlainRequests } from '../../kit/grpc/plain-request.js';
import { DEFAULT_HTTP_LIMITS } from '../../kit/http-listener.js';
import type { Http1Connection } from '../../kit/http1/connection.js';
import { Http1Server } from '../../kit/http1/server.js';
import type { WholeRequest } from '../../kit/whole-request.js';
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

/** REST on the gRPC port: connections of HTTP/1.1, and what comes over HTTP/2 beside gRPC. */
export class RestServer {
  readonly #options: RestServerOptions;
  readonly #gateway: RestGateway;
  readonly #bodyBytesMax: number;
  /** Serves connections that show no certificate. */
  readonly #http: Http1Server;
  readonly #connections = new Set<Http1Connection>();
  #isDraining = false;
  /** Requests so far. */
  requests = 0;

  constructor(options: RestServerOptions) {
    const { services, maxMessageBytes, pages = new Map<string, Page>() } = options;
    this.#options = options;
    this.#bodyBytesMax = Math.ceil(maxMessageBytes * BODY_GROWTH) + BODY_MARGIN_BYTES;
    this.#gateway = new RestGateway({
      services,
      codecs: HOT_CODECS,
      pages,
      bodyBytesMax: this.#bodyBytesMax,
    });
    this.#http = this.#server(undefined);
  }

  /** Serves REST over HTTP/2, beside gRPC on its connections. */
  get plain(): PlainRequests {
    return {
      bodyBytesMax: this.#bodyBytesMax,
      handle: (request, peerName) => this.#handle(request, peerName),
      refuseOversize: (request) => this.#gateway.refuseOversize(request),
    };
  }

  /** Takes a connection over. `peerName`: what its client certificate says. */
  serve(socket: Socket, peerName: string | undefined): void {
    const http = peerName === undefined ? this.#http : this.#server(peerName);
    const connection = http.serve(socket, NO_BYTES);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
    if (this.#isDraining) connection.drain();
  }

  /** Connections end as soon as what they asked is answered. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#connections) connection.drain();
  }

  #server(peerName: string | undefined): Http1Server {
    const { clock, log } = this.#options;
    return new Http1Server({
      limits: { ...DEFAULT_HTTP_LIMITS, bodyBytesMax: this.#bodyBytesMax },
      clock,
      log,
      handle: (exchange) => this.#handle(exchange, peerName),
      refuseOversize: (exchange) => this.#gateway.refuseOversize(exchange),
    });
  }

  #handle(request: WholeRequest, peerName: string | undefined): Promise<void> {
    this.requests++;
    return this.#gateway.handle(request, peerName);
  }
}
