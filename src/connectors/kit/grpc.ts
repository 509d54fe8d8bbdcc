import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { PlainRequests } from './grpc/plain-request.js';
import { GrpcServer } from './grpc/server.js';
import { Http2Connection } from './http2/connection.js';
import { HTTP2_LIMITS } from './http2/limits.js';
import { looksLikeHttp1, PrefaceReader } from './http2/preface.js';
import { peerNameOf, TlsGate, type TlsSource } from './tls-gate.js';

/** Bounds of every gRPC listener, besides those of each connection. */
export const GRPC_LIMITS = {
  /** Connections at once; further ones are closed unanswered. */
  connectionsMax: 10_000,
  /** Bytes of unfinished messages on one connection, besides one message of the largest size. */
  heldBytesMax: 64 * 1024 * 1024,
  /** How often silent peers are looked for. */
  tickMs: 1_000,
} as const;

export interface GrpcListenerOptions {
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  /**
   * Largest message accepted, in bytes. Should be above the protocol's own limit, so that the protocol answers and not
   * the transport (which says RESOURCE_EXHAUSTED).
   */
  readonly maxReceiveBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Connections begin with a TLS handshake. */
  readonly tls?: TlsSource | undefined;
  /**
   * Takes over a connection that begins as HTTP/1, e.g. by `server.emit('connection', socket)`, and ends it when the listener
   * drains. Without it such connections are refused.
   */
  readonly http1?: (socket: Socket) => void;
  /** Serves requests over HTTP/2 that are no gRPC. Without it they are told what this port is. */
  readonly plain?: PlainRequests;
}

/** A port with a gRPC server behind it: HTTP/2 with prior knowledge. */
export interface GrpcListener {
  /** Add services before `listen`. */
  readonly server: GrpcServer;
  /** Binds; resolves with the port. Rejects when the address is taken. */
  listen(): Promise<number>;
  /** Serves a socket that something else accepted, behind its TLS: a gate in front, or another node. */
  accept(socket: Socket): void;
  /**
   * Stops accepting connections and calls and lets running ones end; what is left after `graceMs` is cut. Long-lived
   * streams must be ended by their connector, else they last for the whole grace.
   */
  drain(graceMs: number): Promise<void>;
  /** Cuts everything at once. Idempotent. */
  stop(): Promise<void>;
  /** Open connections. */
  connections(): number;
}

/**
 * Makes a gRPC listener. Bytes that are no HTTP/2 end their own connection only. Clients may send keepalive pings as often as
 * they like (the native contract allows one in 5 s), within the bound on control frames.
 */
export function createGrpcListener(options: GrpcListenerOptions): GrpcListener {
  return new Listener(options);
}

const REFUSE_HTTP1 =
  'HTTP/1.1 505 HTTP Version Not Supported\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

class Listener implements GrpcListener {
  readonly server: GrpcServer;
  readonly #options: GrpcListenerOptions;
  readonly #net: NetServer;
  readonly #gate: TlsGate | undefined;
  /** Each socket with its connection, once it has said what it speaks. */
  readonly #sockets = new Map<Socket, Http2Connection | 'http1' | undefined>();
  #onEmpty: (() => void) | undefined;
  #closed: Promise<void> | undefined;
  #ticks: Timer | undefined;
  #isDraining = false;

  constructor(options: GrpcListenerOptions) {
    this.#options = options;
    const { maxReceiveBytes, clock, log, plain } = options;
    const { heldBytesMax } = GRPC_LIMITS;
    this.server = new GrpcServer({ maxReceiveBytes, heldBytesMax, clock, log, plain });
    const { tls } = options;
    if (tls !== undefined) {
      const protocols = options.http1 === undefined ? ['h2'] : ['h2', 'http/1.1'];
      this.#gate = new TlsGate({
        source: tls,
        protocols,
        clock,
        log,
        admitted: (socket) => this.accept(socket),
      });
    }
    this.#net = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#onConnection(socket));
  }

  async listen(): Promise<number> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#net.once('error', reject);
      this.#net.listen({ host, port }, () => {
        this.#net.off('error', reject);
        resolve();
      });
    });
    this.#net.on('error', (error) => {
      this.#options.log.error('gRPC listener failed', { error: error.message });
    });
    this.#tickLater();
    return (this.#net.address() as AddressInfo).port;
  }

  connections(): number {
    return this.#sockets.size;
  }

  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    const closed = this.#stopAccepting();
    for (const [socket, connection] of this.#sockets) {
      if (connection === undefined) socket.destroy();
      else if (connection !== 'http1') connection.drain();
    }
    await this.#emptyWithin(graceMs);
    await this.#cut();
    await closed;
  }

  async stop(): Promise<void> {
    this.#isDraining = true;
    const closed = this.#stopAccepting();
    this.#ticks?.cancel();
    this.server.stop();
    await this.#cut();
    await closed;
  }

  #onConnection(socket: Socket): void {
    if (this.#gate === undefined) this.accept(socket);
    else if (this.#isDraining || this.#sockets.size + this.#gate.pending >= GRPC_LIMITS.connectionsMax) {
      socket.destroy();
    } else this.#gate.admit(socket);
  }

  accept(socket: Socket): void {
    if (this.#isDraining || this.#sockets.size >= GRPC_LIMITS.connectionsMax) {
      socket.destroy();
      return;
    }
    this.#sockets.set(socket, undefined);
    // Resets are everyday life; the close that follows is what counts.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#gone(socket));
    this.#greet(socket);
  }

  #gone(socket: Socket): void {
    const connection = this.#sockets.get(socket);
    this.#sockets.delete(socket);
    if (connection instanceof Http2Connection) connection.gone();
    if (this.#sockets.size === 0) this.#onEmpty?.();
  }

  /** Waits for the bytes that tell HTTP/2 from HTTP/1 and from noise. */
  #greet(socket: Socket): void {
    const preface = new PrefaceReader();
    const { clock } = this.#options;
    const timer = clock.after(HTTP2_LIMITS.handshakeMs, () => socket.destroy());
    const read = (chunk: Buffer): void => {
      const greeting = preface.push(chunk);
      if (greeting.kind === 'unknown-yet') return;
      timer.cancel();
      socket.off('data', read);
      if (greeting.kind === 'http2') this.#serve(socket, greeting.rest);
      else this.#refuse(socket, greeting.bytes);
    };
    socket.on('data', read);
    socket.once('close', () => timer.cancel());
  }

  #serve(socket: Socket, rest: Buffer): void {
    const { clock, log } = this.#options;
    const open = this.server.connection(peerNameOf(socket, this.#options.tls));
    const connection = new Http2Connection({ socket, limits: HTTP2_LIMITS, clock, log, open });
    this.#sockets.set(socket, connection);
    socket.on('data', (chunk: Buffer) => connection.read(chunk));
    if (rest.length > 0) connection.read(rest);
  }

  #refuse(socket: Socket, bytes: Buffer): void {
    const { http1 } = this.#options;
    if (!looksLikeHttp1(bytes)) {
      socket.destroy();
      return;
    }
    if (http1 !== undefined) {
      this.#sockets.set(socket, 'http1');
      socket.pause();
      socket.unshift(bytes);
      http1(socket);
      socket.resume();
      return;
    }
    socket.resume();
    socket.end(REFUSE_HTTP1);
    this.#options.clock.after(HTTP2_LIMITS.lingerMs, () => socket.destroy());
  }

  #tickLater(): void {
    this.#ticks = this.#options.clock.after(GRPC_LIMITS.tickMs, () => {
      const now = this.#options.clock.now();
      for (const connection of this.#sockets.values()) {
        if (connection instanceof Http2Connection) connection.tick(now);
      }
      if (this.#sockets.size > 0 || !this.#isDraining) this.#tickLater();
    });
  }

  #stopAccepting(): Promise<void> {
    this.#gate?.stop();
    this.#closed ??= new Promise((resolve) => {
      // The error says that it was not listening: nothing to close then.
      this.#net.close(() => resolve());
    });
    return this.#closed;
  }

  async #emptyWithin(graceMs: number): Promise<void> {
    if (this.#sockets.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(graceMs, resolve);
      this.#onEmpty = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#onEmpty = undefined;
  }

  async #cut(): Promise<void> {
    const gone = [...this.#sockets.keys()].map(
      (socket) => new Promise<void>((resolve) => void socket.once('close', () => resolve()).destroy()),
    );
    await Promise.all(gone);
  }
}
