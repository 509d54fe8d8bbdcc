import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** What carries the bytes of one connection between two nodes, in order. */
export interface Carrier {
  /** Resolves when the other node has room for it. */
  write(chunk: Uint8Array): Promise<void>;
  /** Undefined: the other side has ended. */
  read(): Promise<Uint8Array | undefined>;
  /** Nothing more is written. */
  end(): void;
  /** Both directions end at once; the other side hears of a failure. */
  abort(): void;
}

/** A connection as the node sees it that accepted it. */
export interface ConnectionOrigin {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** The client came by TLS, which ended at that node. */
  readonly secure: boolean;
  /** The name in the client's certificate that was checked there. */
  readonly certificateName?: string | undefined;
}

/** Bytes handed to the carrier at once; larger writes go in pieces. */
const PIECE_BYTES_MAX = 128 << 10;
/** What the other side may still send to who has ended and left. */
const UNHEARD_BYTES_MAX = 1 << 20;

/** A client's connection that another node accepted: a connector serves it as it serves a socket of its own. */
export class ForwardedSocket extends Duplex {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  readonly secure: boolean;
  readonly certificateName: string | undefined;
  bytesRead = 0;
  bytesWritten = 0;
  readonly #carrier: Carrier;
  #isReading = false;
  /** More is wanted; a push may ask for it before it returns. */
  #isAsked = false;
  #sawEnd = false;
  #saidEnd = false;

  constructor(carrier: Carrier, origin: ConnectionOrigin) {
    // As a server's sockets: who says that he writes no more is answered in kind.
    super({ allowHalfOpen: false });
    this.#carrier = carrier;
    this.remoteAddress = origin.remoteAddress;
    this.remotePort = origin.remotePort;
    this.localAddress = origin.localAddress;
    this.localPort = origin.localPort;
    this.secure = origin.secure;
    this.certificateName = origin.certificateName;
  }

  /** For those who ask for a socket: everything that this house uses of one is here. */
  get asSocket(): Socket {
    return this as unknown as Socket;
  }

  override _read(): void {
    this.#isAsked = true;
    if (!this.#isReading) void this.#fill();
  }

  async #fill(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#isAsked) {
        const chunk = await this.#carrier.read();
        if (chunk === undefined) {
          this.#sawEnd = true;
          this.push(null);
          return;
        }
        if (this.destroyed) {
          await this.#leave();
          return;
        }
        this.bytesRead += chunk.byteLength;
        this.#isAsked = false;
        if (this.push(chunk)) this.#isAsked = true;
      }
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#isReading = false;
    }
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#carry(chunk).then(() => done(), done);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#carry(Buffer.concat(chunks.map(({ chunk }) => chunk))).then(() => done(), done);
  }

  async #carry(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES_MAX) {
      const piece = bytes.subarray(at, at + PIECE_BYTES_MAX);
      await this.#carrier.write(piece);
      this.bytesWritten += piece.length;
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#saidEnd = true;
    this.#carrier.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#saidEnd) this.#carrier.abort();
    else if (!this.#sawEnd && !this.#isReading) void this.#leave();
    done(error);
  }

  /** All was said, and the other side is about to read it: a failure now could overtake what it has not read. */
  async #leave(): Promise<void> {
    try {
      for (let bytes = 0; bytes < UNHEARD_BYTES_MAX;) {
        const chunk = await this.#carrier.read();
        if (chunk === undefined) return;
        bytes += chunk.byteLength;
      }
      this.#carrier.abort();
    } catch {
      // The other side is gone, too.
    }
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  // The connection itself is another node's: what is set here would change nothing.
  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
