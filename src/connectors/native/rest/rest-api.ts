import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Clock, Timer } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import type { AnyHandler } from '../../kit/grpc-call.js';
import { DEFAULT_HTTP_LIMITS, HttpListener, type HttpExchange } from '../../kit/http-listener.js';
import { peerNameOf, type TlsSource } from '../../kit/tls-gate.js';
import type { NativeApi } from '../grpc/api.js';
import { NATIVE_LIMITS } from '../limits.js';
import type { JsonValue } from '../wire/json-text.js';
import type { RestConfig } from './config.js';
import { Cors } from './cors.js';
import { envelope, httpStatus, routerError } from './envelope.js';
import { RestMetadata } from './metadata.js';
import { openApiDocument } from './openapi.js';
import { ROUTES, type Route, type SocketRoute, type UnaryRoute } from './routes.js';
import { SocketCall } from './socket-call.js';
import { RestUnaryCall } from './unary-call.js';

export interface RestApiOptions {
  readonly api: NativeApi;
  readonly config: RestConfig;
  readonly host: string;
  readonly tls: TlsSource | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Name of this machine and version of the product, for the headers of answers. */
  readonly hostName: string;
  readonly version: string;
}

const JSON_TYPE = ['Content-Type', 'application/json; charset=UTF-8'];

/** The native API over HTTP and WebSockets: the same operations as over gRPC, in JSON. */
export class RestApi {
  readonly #options: RestApiOptions;
  readonly #listener: HttpListener;
  readonly #cors: Cors;
  readonly #sockets: WebSocketServer;
  /** Open WebSockets; false: asked whether they are there, and silent since. */
  readonly #alive = new Map<WebSocket, boolean>();
  readonly #routes = new Map<string, Route>();
  readonly #headers: readonly string[];
  readonly #document: string;
  #pings: Timer | undefined;

  constructor(options: RestApiOptions) {
    this.#options = options;
    const { config, host, tls, clock, log, hostName, version } = options;
    this.#cors = new Cors(config);
    for (const route of ROUTES) this.#routes.set(route.path, route);
    this.#headers = ['Broker', hostName, 'X-Powered-By', `Polymq ${version}`];
    this.#document = openApiDocument(version);
    // Compressing small messages costs more than it saves, and memory for each connection.
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: config.bodyLimit,
      perMessageDeflate: false,
    });
    this.#listener = new HttpListener({
      host,
      port: config.port,
      limits: { ...DEFAULT_HTTP_LIMITS, bodyBytesMax: config.bodyLimit },
      clock,
      log,
      tls,
      handle: (exchange) => this.#handle(exchange),
      refuseOversize: (exchange) => this.#reply(exchange, 413, routerError(413, 'Request Entity Too Large')),
    });
  }

  async start(): Promise<number> {
    const { port } = await this.#listener.start();
    this.#pingLater();
    return port;
  }

  admit(socket: Socket): void {
    this.#listener.admit(socket);
  }

  connections(): number {
    return this.#listener.connections;
  }

  drain(graceMs: number): Promise<void> {
    return this.#listener.drain(graceMs);
  }

  async stop(): Promise<void> {
    this.#pings?.cancel();
    await this.#listener.stop();
  }

  #handle(exchange: HttpExchange): void {
    const { path, query } = split(exchange.url);
    if (exchange.method === 'OPTIONS') {
      this.#reply(exchange, 204, '', this.#cors.preflightHeadersFor(exchange));
      return;
    }
    if (path === '/') this.#plain(exchange, ['Content-Type', 'text/plain; charset=UTF-8'], 'hi');
    else if (path === '/openapi.json') this.#plain(exchange, JSON_TYPE, this.#document);
    else this.#run(exchange, this.#routes.get(path), query);
  }

  #run(exchange: HttpExchange, route: Route | undefined, query: URLSearchParams): void {
    if (route === undefined) this.#reply(exchange, 404, routerError(404, 'Not Found'));
    else if (!takes(exchange, route.verb)) this.#notAllowed(exchange, route.verb);
    else if (route.kind === 'unary') this.#runUnary(exchange, route, query);
    else this.#runSocket(exchange, route, query);
  }

  #runUnary(exchange: HttpExchange, route: UnaryRoute, query: URLSearchParams): void {
    let request: unknown;
    try {
      request = route.request.decode(exchange.body.toString());
      Object.assign(request as object, given(route, query));
    } catch (caught) {
      this.#reply(exchange, 400, envelope(null, textOf(caught)));
      return;
    }
    const call = new RestUnaryCall({
      exchange,
      request,
      metadata: this.#metadata(exchange),
      response: route.response,
      reply: (code, body) => this.#reply(exchange, code, body),
    });
    this.#operation(route)(call as never);
  }

  #runSocket(exchange: HttpExchange, route: SocketRoute, query: URLSearchParams): void {
    if (exchange.header('upgrade')?.toLowerCase() !== 'websocket') {
      this.#reply(exchange, 400, envelope(null, 'this is a WebSocket: an upgrade is needed'));
      return;
    }
    let request: unknown;
    try {
      if (route.kind === 'subscribe') request = subscription(route, query);
    } catch (caught) {
      this.#reply(exchange, 400, envelope(null, textOf(caught)));
      return;
    }
    const call = new SocketCall({
      metadata: this.#metadata(exchange),
      request,
      incoming: route.request,
      outgoing: route.response,
      bad: (error) =>
        route.operation === 'StreamQueueMessage' ? { isError: true, error } : { sent: false, error },
    });
    this.#operation(route)(call as never);
    const { refusal } = call;
    if (refusal === undefined) this.#upgrade(exchange, call);
    else this.#reply(exchange, httpStatus(refusal), envelope(null, refusal.details));
  }

  #upgrade(exchange: HttpExchange, call: SocketCall): void {
    const detached = exchange.upgrade();
    if (detached === undefined) {
      call.gone();
      this.#reply(exchange, 400, envelope(null, 'other requests wait on this connection'));
      return;
    }
    const { socket, rest } = detached;
    let isOpen = false;
    socket.once('close', () => {
      // A handshake that is no good is answered and closed by the WebSocket server.
      if (!isOpen) call.gone();
    });
    const request = { method: exchange.method, url: exchange.url, headers: exchange.headers, socket };
    this.#sockets.handleUpgrade(request as unknown as IncomingMessage, socket, rest, (webSocket) => {
      isOpen = true;
      this.#alive.set(webSocket, true);
      webSocket.on('pong', () => this.#alive.set(webSocket, true));
      webSocket.on('close', () => this.#alive.delete(webSocket));
      call.open(webSocket);
    });
  }

  /** Asks all peers whether they are there, and cuts those that did not answer the last time. */
  #pingLater(): void {
    this.#pings = this.#options.clock.after(NATIVE_LIMITS.webSocketPingMs, () => {
      for (const [socket, answered] of this.#alive) {
        if (!answered) {
          socket.terminate();
          continue;
        }
        this.#alive.set(socket, false);
        socket.ping();
      }
      this.#pingLater();
    });
  }

  #operation(route: Route): AnyHandler {
    const handler = this.#options.api.handlers[route.operation];
    if (handler === undefined) throw new Error(`no operation ${route.operation}`);
    return handler;
  }

  #metadata(exchange: HttpExchange): RestMetadata {
    return new RestMetadata(exchange, peerNameOf(exchange.socket, this.#options.tls));
  }

  #plain(exchange: HttpExchange, type: readonly string[], body: string): void {
    if (!takes(exchange, 'GET')) this.#notAllowed(exchange, 'GET');
    else exchange.reply(200, [...this.#headers, ...type, ...this.#cors.headersFor(exchange)], body);
  }

  #notAllowed(exchange: HttpExchange, verb: string): void {
    this.#reply(exchange, 405, routerError(405, 'Method Not Allowed'), ['Allow', verb]);
  }

  #reply(exchange: HttpExchange, code: number, body: string, more: readonly string[] = []): void {
    const cors = exchange.method === 'OPTIONS' ? [] : this.#cors.headersFor(exchange);
    exchange.reply(code, [...this.#headers, ...(body === '' ? [] : JSON_TYPE), ...cors, ...more], body);
  }
}

function takes({ method }: HttpExchange, verb: string): boolean {
  return method === verb || (method === 'HEAD' && verb === 'GET');
}

function split(url: string): { readonly path: string; readonly query: URLSearchParams } {
  const mark = url.indexOf('?');
  return mark < 0
    ? { path: url, query: new URLSearchParams() }
    : { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

/** Fields of the request that stand in the query. */
function given(route: UnaryRoute, query: URLSearchParams): object {
  const fields: Record<string, JsonValue> = {};
  for (const [parameter, field] of Object.entries(route.query)) {
    const value = query.get(parameter);
    if (value !== null) fields[field] = value;
  }
  if (Object.keys(fields).length === 0) return {};
  const read: Record<string, unknown> = route.request.read(fields);
  // Only what was given: the rest is in the body.
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== ''));
}

/** The subscription that the query of a WebSocket's address asks for. */
function subscription(route: SocketRoute, query: URLSearchParams): unknown {
  const value = (name: string): string => query.get(name) ?? '';
  return route.request.read({
    // What it is not, the operation refuses.
    SubscribeTypeData: route.types[value('subscribe_type')] ?? 0,
    ClientID: value('client_id'),
    Channel: value('channel'),
    Group: value('group'),
    EventsStoreTypeData: value('events_store_type_data') || 0,
    EventsStoreTypeValue: value('events_store_type_value') || 0,
  });
}

function textOf(caught: unknown): string {
  return caught instanceof Error ? caught.message : String(caught);
}
