import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { TlsGate, type TlsSource } from './tls-gate.js';

/** One client of a TCP listener: what the listener needs to drain and stop it. */
export interface PeerConnection {
  /** Tells the peer to go and lets what runs end; the socket closes when that is done. */
  drain(): void;
  /** Closes the socket at once. */
  destroy(): void;
}

export interface TcpListenerOptions {
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  /** Open sockets; more are closed as they come. 0 = no bound. */
  readonly connectionsMax: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Connections begin with a TLS handshake. `protocols` are offered by ALPN. */
  readonly tls?: { readonly source: TlsSource; readonly protocols: readonly string[] } | undefined;
  /** Takes over a new socket, with Nagle's algorithm off. It must not throw. */
  readonly accept: (socket: Socket) => PeerConnection;
}

/** A bound TCP port and the connections it accepted. `start`, `drain` and `stop` are idempotent. */
export class TcpListener {
  readonly #options: TcpListenerOptions;
  readonly #server: Server;
  readonly #gate: TlsGate | undefined;
  readonly #peers = new Map<Socket, PeerConnection>();
  #draining = false;
  #idle: (() => void) | undefined;
  acceptedConnections = 0;
  refusedConnections = 0;

  constructor(options: TcpListenerOptions) {
    this.#options = options;
    const { tls, clock, log } = options;
    if (tls !== undefined) {
      this.#gate = new TlsGate({ ...tls, clock, log, admitted: (socket) => this.#open(socket) });
    }
    this.#server = createServer({ noDelay: true }, (socket) => this.#onConnection(socket));
  }

  get connections(): number {
    return this.#peers.size;
  }

  /** Binds the port; rejects when it cannot. Resolves with the bound port. */
  async start(): Promise<number> {
    if (!this.#server.listening) {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject);
        this.#server.listen(this.#options.port, this.#options.host, () => {
          this.#server.removeListener('error', reject);
          // Without a listener, a failing accept (out of file descriptors) would end the process.
          this.#server.on('error', (error) => this.#options.log.error('listener failed', { error }));
          resolve();
        });
      });
    }
    return this.address.port;
  }

  /** The bound address. Only after `start`. */
  get address(): AddressInfo {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the listener is not bound');
    return address;
  }

  /** Serves a connection that another node accepted, behind its TLS. */
  admit(socket: Socket): void {
    if (this.#isFull()) this.#turnAway(socket);
    else this.#open(socket);
  }

  /** Gives the port back; connections stay. */
  unbind(): void {
    if (this.#server.listening) this.#server.close();
  }

  /** Accepts nothing new, drains every peer and resolves when all are gone, at the latest after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    if (this.#server.listening) this.#server.close();
    this.#gate?.stop();
    if (this.#peers.size === 0) return;
    const gone = new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(graceMs, resolve);
      this.#idle = () => {
        timer.cancel();
        resolve();
      };
    });
    for (const peer of [...this.#peers.values()]) peer.drain();
    await gone;
  }

  /** Closes the port and every socket; resolves when all are closed. */
  async stop(): Promise<void> {
    this.#draining = true;
    if (this.#server.listening) this.#server.close();
    this.#gate?.stop();
    if (this.#peers.size === 0) return;
    const gone = new Promise<void>((resolve) => (this.#idle = resolve));
    for (const peer of [...this.#peers.values()]) peer.destroy();
    await gone;
  }

  #onConnection(socket: Socket): void {
    if (this.#isFull()) this.#turnAway(socket);
    else if (this.#gate !== undefined) this.#gate.admit(socket);
    else this.#open(socket);
  }

  #isFull(): boolean {
    const { connectionsMax } = this.#options;
    return connectionsMax > 0 && this.#peers.size + (this.#gate?.pending ?? 0) >= connectionsMax;
  }

  #turnAway(socket: Socket): void {
    this.refusedConnections++;
    socket.destroy();
  }

  #open(socket: Socket): void {
    if (this.#draining) {
      this.#turnAway(socket);
      return;
    }
    this.acceptedConnections++;
    this.#peers.set(socket, this.#options.accept(socket));
    socket.once('close', () => {
      this.#peers.delete(socket);
      if (this.#peers.size === 0) this.#idle?.();
    });
  }
}
