import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { HttpExchange } from '../../kit/http-listener.js';
import { DEFAULT_HTTP_LIMITS, HttpListener } from '../../kit/http-listener.js';
import type { PeerConnection } from '../../kit/tcp-listener.js';
import type { ConnectionContext } from '../connection/context.js';
import type { PeerSocket } from '../connection/peer-socket.js';
import { WebSocketStream } from './web-socket-stream.js';

/** The name of AMQP 0-9-1 among WebSocket subprotocols. */
const SUBPROTOCOL = 'amqp';
/** Room for method and header frames in a message that holds one whole publish. */
const FRAMES_BYTES = 256 * 1024;
const BODY_BYTES_MAX = 1024;

export interface WebSocketListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly context: ConnectionContext;
  /** Takes over a client; `transport` is the socket its WebSocket runs on. It must not throw. */
  readonly accept: (stream: PeerSocket, transport: Socket) => PeerConnection;
}

/** AMQP in the binary messages of WebSockets (RFC 6455), on any path of one port. */
export class WebSocketListener {
  readonly #options: WebSocketListenerOptions;
  readonly #http: HttpListener;
  readonly #server: WebSocketServer;
  readonly #peers = new Set<PeerConnection>();

  constructor(options: WebSocketListenerOptions) {
    this.#options = options;
    const { host, port, context } = options;
    const { clock, log, tls, config } = context;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: config.maxMessageSize + FRAMES_BYTES,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
    const connectionsMax =
      config.maxConnections === 0 ? DEFAULT_HTTP_LIMITS.connectionsMax : config.maxConnections;
    this.#http = new HttpListener({
      host,
      port,
      clock,
      log,
      tls,
      limits: { ...DEFAULT_HTTP_LIMITS, connectionsMax, bodyBytesMax: BODY_BYTES_MAX },
      handle: (exchange) => this.#handle(exchange),
      refuseOversize: (exchange) => exchange.reply(413, [], ''),
    });
  }

  get connections(): number {
    return this.#http.connections;
  }

  start(): Promise<{ readonly host: string; readonly port: number }> {
    return this.#http.start();
  }

  admit(socket: Socket): void {
    this.#http.admit(socket);
  }

  async drain(graceMs: number): Promise<void> {
    for (const peer of [...this.#peers]) peer.drain();
    await this.#http.drain(graceMs);
  }

  async stop(): Promise<void> {
    for (const peer of [...this.#peers]) peer.destroy();
    await this.#http.stop();
  }

  #handle(exchange: HttpExchange): void {
    const wanted = exchange.header('upgrade')?.toLowerCase() === 'websocket';
    const detached = wanted ? exchange.upgrade() : undefined;
    if (detached === undefined) {
      exchange.reply(426, ['Upgrade', 'websocket', 'Connection', 'Upgrade'], 'AMQP over WebSocket');
      return;
    }
    const { socket, rest } = detached;
    // The part of a request that a handshake looks at.
    const request = { method: exchange.method, url: exchange.url, headers: exchange.headers };
    this.#server.handleUpgrade(request as unknown as IncomingMessage, socket, rest, (client) => {
      const stream = new WebSocketStream(client);
      const peer = this.#options.accept(stream, socket);
      this.#peers.add(peer);
      stream.once('close', () => this.#peers.delete(peer));
    });
  }
}
