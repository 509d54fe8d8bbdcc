import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { NO_BYTES } from '../../core/message.js';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';

/** Every bound of an HTTP listener, by name. */
export interface HttpLimits {
  /** Open sockets; more are closed as they come. */
  readonly connectionsMax: number;
  /** Largest request body. A larger one is read to its end within a bound, thrown away and refused. */
  readonly bodyBytesMax: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  /** Time for a peer to send its headers, and its whole request. Waiting for an answer is not counted. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Idle time after which a kept-alive socket is closed. */
  readonly keepAliveTimeoutMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connectionsMax: 10_000,
  bodyBytesMax: 8 * 1024 * 1024,
  headerBytesMax: 32 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
};

export interface HttpListenerOptions {
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** Answers one whole request. It owns its failures: a rejection is logged and answered with an empty 500. */
  readonly handle: (exchange: HttpExchange) => void | Promise<void>;
  /** Refuses a request whose body was over the limit (the exchange has none). */
  readonly refuseOversize: (exchange: HttpExchange) => void;
}

/** Bodies over the limit are read on to at most this many times the limit, so that the peer reads our answer. */
const OVERSIZE_READ_FACTOR = 4;
/** How often Node looks for peers that exceed a timeout. */
const TIMEOUT_CHECK_MS = 1_000;

const EMPTY_BODY = Buffer.from(NO_BYTES);

/** One request, whole, and the way to answer it once. */
export class HttpExchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly body: Buffer;
  #onPeerGone: (() => void) | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, body: Buffer) {
    this.#request = request;
    this.#response = response;
    this.body = body;
  }

  get method(): string {
    return this.#request.method ?? '';
  }

  /** Path and query as received. */
  get url(): string {
    return this.#request.url ?? '/';
  }

  /** Names in lower case. */
  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  get answered(): boolean {
    return this.#response.writableEnded;
  }

  /** Calls `run` when the peer goes away before it was answered. One at a time; undefined forgets it. */
  onPeerGone(run: (() => void) | undefined): void {
    if (run !== undefined && this.#response.destroyed) {
      run();
      return;
    }
    if (run !== undefined && this.#onPeerGone === undefined) {
      this.#response.once('close', () => {
        if (!this.#response.writableFinished) this.#onPeerGone?.();
      });
    }
    this.#onPeerGone = run ?? (() => undefined);
  }

  /** Sends the answer. `headers` is name, value, name, value…; Content-Length is added. A second call does nothing. */
  reply(status: number, headers: readonly string[], body: string | Uint8Array): void {
    const response = this.#response;
    if (response.writableEnded || response.destroyed) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    response.writeHead(status, [...headers, 'Content-Length', String(length)]);
    response.end(body);
  }
}

/**
 * A bare HTTP/1.1 listener: whole requests in, whole answers out, keep-alive, every limit named, and a drain that lets
 * running calls end. No routing and no framework: both cost a third of the throughput of `node:http`.
 */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #running = 0;
  #draining = false;
  #idle: (() => void) | undefined;
  #closed: Promise<void> | undefined;
  /** Plain counters, read at scrape time. */
  requests = 0;
  badRequests = 0;
  refusedConnections = 0;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    const { limits } = options;
    this.#server = createServer(
      {
        keepAlive: true,
        noDelay: true,
        maxHeaderSize: limits.headerBytesMax,
        headersTimeout: limits.headersTimeoutMs,
        requestTimeout: limits.requestTimeoutMs,
        keepAliveTimeout: limits.keepAliveTimeoutMs,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      },
      (request, response) => this.#onRequest(request, response),
    );
    this.#server.on('connection', (socket: Socket) => this.#onConnection(socket));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      this.badRequests++;
      refuseMalformed(error, socket);
    });
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Binds; rejects with the system's error when the port is taken. */
  async start(): Promise<{ readonly host: string; readonly port: number }> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options.port, this.#options.host, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#options.log.error('http listener failed', { error }));
        resolve();
      });
    });
    const { address, port } = this.#server.address() as AddressInfo;
    return { host: address, port };
  }

  /** Stops accepting, closes idle sockets, waits for running calls; resolves at the latest after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    if (this.#draining) return;
    void this.#close();
    this.#server.closeIdleConnections();
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(graceMs, resolve);
      this.#idle = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Closes everything at once. Idempotent. */
  async stop(): Promise<void> {
    const closed = this.#close();
    const gone = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => void socket.once('close', () => resolve()).destroy()),
    );
    await Promise.all([closed, ...gone]);
  }

  /** Stops accepting; resolves when the last socket is gone. */
  #close(): Promise<void> {
    this.#draining = true;
    this.#closed ??= new Promise((resolve) => {
      // An error only says that it was not listening.
      this.#server.close(() => resolve());
    });
    return this.#closed;
  }

  #onConnection(socket: Socket): void {
    if (this.#sockets.size >= this.#options.limits.connectionsMax || this.#draining) {
      this.refusedConnections++;
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    this.requests++;
    this.#running++;
    if (this.#draining) response.shouldKeepAlive = false;
    response.once('close', () => this.#onClosed());
    readBody(request, this.#options.limits.bodyBytesMax, (body) => {
      if (body === undefined) {
        response.shouldKeepAlive = false;
        this.#options.refuseOversize(new HttpExchange(request, response, EMPTY_BODY));
        return;
      }
      this.#handle(new HttpExchange(request, response, body), response);
    });
  }

  #handle(exchange: HttpExchange, response: ServerResponse): void {
    try {
      const running = this.#options.handle(exchange);
      if (running === undefined) return;
      running.catch((error: unknown) => this.#onHandlerFailure(exchange, error));
    } catch (error) {
      this.#onHandlerFailure(exchange, error);
    }
    if (this.#draining) response.shouldKeepAlive = false;
  }

  #onHandlerFailure(exchange: HttpExchange, error: unknown): void {
    this.#options.log.error('http handler failed', { error });
    exchange.reply(500, [], '');
  }

  #onClosed(): void {
    this.#running--;
    if (this.#draining) {
      this.#server.closeIdleConnections();
      if (this.#running === 0) this.#idle?.();
    }
  }
}

/** Calls `done` once with the whole body, or with undefined when it is over `bytesMax`; never when the peer goes away. */
function readBody(
  request: IncomingMessage,
  bytesMax: number,
  done: (body: Buffer | undefined) => void,
): void {
  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let length = 0;
  let finished = false;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > bytesMax) {
      first = undefined;
      rest = undefined;
      if (length > bytesMax * OVERSIZE_READ_FACTOR && !finished) {
        finished = true;
        request.pause();
        done(undefined);
      }
      return;
    }
    if (first === undefined) first = chunk;
    else (rest ??= [first]).push(chunk);
  });
  request.once('end', () => {
    if (finished) return;
    finished = true;
    if (length > bytesMax) done(undefined);
    else if (rest !== undefined) done(Buffer.concat(rest, length));
    else done(first ?? EMPTY_BODY);
  });
  // A reset in the middle of a body is silent without an `error` listener, and there is nobody to answer.
}

function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = STATUS_OF_PARSE_ERROR[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

const STATUS_OF_PARSE_ERROR: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
