import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import type { Http2Server, ServerOptions as Http2ServerOptions } from 'node:http2';
import { Server, ServerCredentials, type ConnectionInjector, type ServerOptions } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';

/** Bounds of every gRPC listener. */
export const GRPC_LIMITS = {
  /** Connections at once; further ones are closed unanswered. */
  connectionsMax: 10_000,
  /** Calls at once on one connection. */
  streamsPerConnectionMax: 100_000,
  /** Bytes a peer may send ahead on one call, and on one connection, before they are read. */
  streamWindowBytes: 1024 * 1024,
  connectionWindowBytes: 8 * 1024 * 1024,
  /** A silent peer is asked whether it is there, and cut when it does not answer in time. */
  keepaliveMs: 20_000,
  keepaliveTimeoutMs: 10_000,
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
}

/** A plain-text HTTP/2 port with a gRPC server behind it. */
export interface GrpcListener {
  /** Add services before `listen`. */
  readonly server: Server;
  /** Binds; resolves with the port. Rejects when the address is taken. */
  listen(): Promise<number>;
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
 * Makes a gRPC listener. The sockets are accepted here and handed to grpc-js, so that they can be counted, bounded and
 * cut. Bytes that are no HTTP/2 end their own connection only.
 *
 * grpc-js sends no GOAWAY for frequent keepalive pings and answers them without calls, so clients may ping as often as
 * they like (the native contract allows one in 5 s).
 */
export function createGrpcListener(options: GrpcListenerOptions): GrpcListener {
  return new Listener(options);
}

class Listener implements GrpcListener {
  readonly server: Server;
  readonly #options: GrpcListenerOptions;
  readonly #net: NetServer;
  readonly #sockets = new Set<Socket>();
  readonly #injector: ConnectionInjector;
  #onEmpty: (() => void) | undefined;
  #closed: Promise<void> | undefined;
  #stopped = false;

  constructor(options: GrpcListenerOptions) {
    this.#options = options;
    const serverOptions: ServerOptions = {
      'grpc.max_receive_message_length': options.maxReceiveBytes,
      'grpc.max_send_message_length': -1,
      'grpc.max_concurrent_streams': GRPC_LIMITS.streamsPerConnectionMax,
      'grpc.keepalive_time_ms': GRPC_LIMITS.keepaliveMs,
      'grpc.keepalive_timeout_ms': GRPC_LIMITS.keepaliveTimeoutMs,
      // Channelz counts every message; nobody reads it here.
      'grpc.enable_channelz': 0,
    };
    this.server = new Server(serverOptions);
    widenStreamWindows(this.server);
    this.#injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    widenConnectionWindows(this.server);
    dropEndlessTimeouts(this.server);
    this.#net = createServer({ noDelay: true, keepAlive: true }, (socket) => {
      this.#open(socket);
      this.#injector.injectConnection(socket);
    });
    this.#net.maxConnections = GRPC_LIMITS.connectionsMax;
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
    return (this.#net.address() as AddressInfo).port;
  }

  connections(): number {
    return this.#sockets.size;
  }

  async drain(graceMs: number): Promise<void> {
    const closed = this.#stopAccepting();
    // Each session says GOAWAY now and closes with its last call.
    this.#injector.drain(graceMs);
    await this.#emptyWithin(graceMs);
    this.#cut();
    await closed;
  }

  async stop(): Promise<void> {
    const closed = this.#stopAccepting();
    this.#cut();
    if (!this.#stopped) {
      this.#stopped = true;
      this.server.forceShutdown();
    }
    await closed;
  }

  #open(socket: Socket): void {
    this.#sockets.add(socket);
    // Resets are everyday life; the close that follows is what counts.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#onEmpty?.();
    });
  }

  #stopAccepting(): Promise<void> {
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

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}

/** Parts of grpc-js 1.14 that have no public name. Both are optional here: without them only the defaults apply. */
interface ServerInternals {
  readonly commonServerOptions?: Http2ServerOptions;
  readonly http2Servers?: ReadonlyMap<Http2Server, unknown>;
}

/**
 * grpc-js has a public option for a client's receive window but none for a server's, which stays at HTTP/2's 64 KiB: a
 * peer 10 ms away could send 6 MB/s at most.
 */
function widenStreamWindows(server: Server): void {
  const options = (server as unknown as ServerInternals).commonServerOptions;
  if (options === undefined) return;
  options.settings = { ...options.settings, initialWindowSize: GRPC_LIMITS.streamWindowBytes };
}

/** The same for all calls of one connection together. */
function widenConnectionWindows(server: Server): void {
  for (const http2 of (server as unknown as ServerInternals).http2Servers?.keys() ?? []) {
    http2.on('session', (session) => session.setLocalWindowSize(GRPC_LIMITS.connectionWindowBytes));
  }
}

const MILLISECONDS_BY_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 0.001,
  n: 0.000001,
};
const TIMER_MS_MAX = 0x7fffffff;

/** Whether a `grpc-timeout` is longer than a timer can be (24.8 days). */
export function isEndlessTimeout(text: string): boolean {
  const perUnit = MILLISECONDS_BY_UNIT[text.slice(-1)] ?? 0;
  return Number(text.slice(0, -1)) * perUnit > TIMER_MS_MAX;
}

/**
 * grpc-js counts a call's timeout in 32 bits of milliseconds: a longer one wraps, and the call ends at once. Google's Python
 * client sends 136 years with every publish that keeps order. Such a call has no deadline that anybody will see.
 */
function dropEndlessTimeouts(server: Server): void {
  for (const http2 of (server as unknown as ServerInternals).http2Servers?.keys() ?? []) {
    http2.prependListener('stream', (_stream, headers) => {
      const timeout = headers['grpc-timeout'];
      if (typeof timeout === 'string' && isEndlessTimeout(timeout)) delete headers['grpc-timeout'];
    });
  }
}
