import type { Socket } from 'node:net';
import { createServer, TLSSocket, type Server as TlsServer } from 'node:tls';
import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { ForwardedSocket } from './forwarded-socket.js';

/** PEM texts. */
export interface TlsCredentials {
  readonly certificate: string;
  readonly key: string;
  /** Whose client certificates are believed; undefined: clients are not asked for one. */
  readonly authority: string | undefined;
}

/** The TLS settings of all listeners. */
export interface TlsSource {
  readonly credentials: TlsCredentials;
  /** With an authority: clients without a certificate of it are refused. */
  readonly clientCertificate: 'required' | 'optional';
  /** Clients that do not begin with a TLS handshake are served, too. */
  readonly allowPlain: boolean;
  /** The name in a client's certificate is its client id. */
  readonly certificateIdentity: boolean;
  /** Called when the credentials were replaced. Returns how to stop that. */
  onChange(changed: () => void): () => void;
}

export interface TlsGateOptions {
  readonly source: TlsSource;
  /** Protocols offered by ALPN (RFC 7301), the preferred one first; empty: none. */
  readonly protocols: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** Takes over a socket behind its handshake, or a plain one where these are allowed. */
  readonly admitted: (socket: Socket) => void;
}

/** A peer that has not shaken hands by then is cut off. */
const HANDSHAKE_MS = 10_000;
/** ContentType handshake: how every TLS connection begins (RFC 8446, section 5.1). */
const TLS_HANDSHAKE = 0x16;

/** Stands before a listener: sockets go in as they were accepted and come out decrypted. */
export class TlsGate {
  readonly #options: TlsGateOptions;
  readonly #server: TlsServer;
  /** Sockets in their handshake, by their remote end: behind it they are other objects. */
  readonly #pending = new Map<string, Socket>();
  readonly #forget: () => void;
  /** Handshakes that failed. */
  refused = 0;

  constructor(options: TlsGateOptions) {
    this.#options = options;
    const { source, protocols, log } = options;
    this.#server = createServer({
      ...contextOf(source.credentials),
      ALPNProtocols: protocols.length === 0 ? undefined : [...protocols],
      requestCert: source.credentials.authority !== undefined,
      rejectUnauthorized:
        source.credentials.authority !== undefined && source.clientCertificate === 'required',
      handshakeTimeout: HANDSHAKE_MS,
    });
    this.#server.on('secureConnection', (socket) => {
      this.#pending.delete(remoteOf(socket));
      options.admitted(socket);
    });
    this.#server.on('tlsClientError', (error, socket) => {
      this.refused++;
      log.debug('TLS handshake failed', { error: error.message });
      socket.destroy();
    });
    this.#forget = source.onChange(() => this.#server.setSecureContext(contextOf(source.credentials)));
  }

  /** Sockets that have not shaken hands yet. */
  get pending(): number {
    return this.#pending.size;
  }

  admit(socket: Socket): void {
    const remote = remoteOf(socket);
    this.#pending.set(remote, socket);
    socket.once('close', () => {
      if (this.#pending.get(remote) === socket) this.#pending.delete(remote);
    });
    // Resets are everyday life; the close that follows is what counts.
    socket.on('error', () => undefined);
    if (this.#options.source.allowPlain) this.#look(socket);
    else this.#server.emit('connection', socket);
  }

  /** Cuts those that are shaking hands. */
  stop(): void {
    this.#forget();
    for (const socket of this.#pending.values()) socket.destroy();
  }

  /** The first byte tells. */
  #look(socket: Socket): void {
    const timer: Timer = this.#options.clock.after(HANDSHAKE_MS, () => socket.destroy());
    socket.once('close', () => timer.cancel());
    socket.once('data', (chunk: Buffer) => {
      timer.cancel();
      socket.pause();
      socket.unshift(chunk);
      if (chunk[0] === TLS_HANDSHAKE) {
        this.#server.emit('connection', socket);
        return;
      }
      this.#pending.delete(remoteOf(socket));
      // From the next turn on; whoever takes it over may hold it back still.
      socket.resume();
      this.#options.admitted(socket);
    });
  }
}

function remoteOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ''} ${socket.remotePort ?? 0}`;
}

function contextOf({ certificate, key, authority }: TlsCredentials) {
  return { cert: certificate, key, ca: authority };
}

/** The same for a port where nobody speaks in the clear. */
export function withoutPlain(source: TlsSource): TlsSource {
  return {
    get credentials() {
      return source.credentials;
    },
    clientCertificate: source.clientCertificate,
    allowPlain: false,
    certificateIdentity: source.certificateIdentity,
    onChange: (changed) => source.onChange(changed),
  };
}

/** Whether the client speaks TLS, to this node or to the one that forwarded it. */
export function isSecure(socket: Socket): boolean {
  return socket instanceof TLSSocket || (socket instanceof ForwardedSocket && socket.secure);
}

/** The common name in a client's certificate; undefined when there is none that was checked. */
export function peerNameOf(socket: Socket, source: TlsSource | undefined): string | undefined {
  if (source?.certificateIdentity !== true) return undefined;
  if (socket instanceof ForwardedSocket) return socket.certificateName;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const name: unknown = socket.getPeerCertificate().subject.CN;
  return typeof name === 'string' && name !== '' ? name : undefined;
}
