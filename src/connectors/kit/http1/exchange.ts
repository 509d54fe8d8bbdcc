import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Pieces } from './pieces.js';
import type { ParsedRequest } from './request-parser.js';

/** What an exchange asks of its connection. */
export interface ExchangeConnection {
  readonly socket: Socket;
  /** The peer left, or closed its side. */
  readonly peerGone: boolean;
  /** The socket is closed: answers go nowhere. */
  readonly closed: boolean;
  /** Writes the head of the answer. Throws RangeError for headers that would break it. */
  writeHead(exchange: HttpExchange, status: number, headers: readonly string[], length: number): string;
  /** Sends the answer when its turn has come. */
  onAnswer(exchange: HttpExchange): void;
  /** Gives the socket away instead of an answer. */
  detach(exchange: HttpExchange): Detached | undefined;
}

/** A socket that is ours no longer, and what was read from it behind the last request. */
export interface Detached {
  readonly socket: Socket;
  readonly rest: Buffer;
}

const NO_BODY = Buffer.alloc(0);

/** One request, whole, and the way to answer it once. */
export class HttpExchange {
  readonly #connection: ExchangeConnection;
  readonly #request: ParsedRequest;
  #onPeerGone: (() => void) | undefined;
  /** Answer: head, and the body too when that is text; undefined while there is none. */
  text: string | undefined;
  /** Every character of the text is a byte. */
  isAscii = true;
  bytes: Uint8Array | undefined;
  /** The exchange that came after it on the same connection. */
  next: HttpExchange | undefined;

  constructor(connection: ExchangeConnection, request: ParsedRequest) {
    this.#connection = connection;
    this.#request = request;
  }

  get method(): string {
    return this.#request.head.method;
  }

  /** Path and query as received. */
  get url(): string {
    return this.#request.head.url;
  }

  /** Empty when it was over the limit. */
  get body(): Buffer {
    return this.#request.body ?? NO_BODY;
  }

  /** The peer can have another answer on this connection. */
  get keepAlive(): boolean {
    return this.#request.keepAlive;
  }

  /** Value of the first field of this name, in lower case. */
  header(name: string): string | undefined {
    return this.#request.head.header(name);
  }

  /** Values of all fields of this name, in lower case, with commas between them. */
  joined(name: string): string | undefined {
    return this.#request.head.joined(name);
  }

  /** All fields by name in lower case, several of one name joined. Made at each call: `header` is the cheap way. */
  get headers(): IncomingHttpHeaders {
    return this.#request.head.record();
  }

  get answered(): boolean {
    return this.text !== undefined;
  }

  /** Calls `run` when the peer goes away before it was answered. One at a time; undefined forgets it. */
  onPeerGone(run: (() => void) | undefined): void {
    this.#onPeerGone = run;
    if (this.#connection.peerGone) this.tellPeerGone();
  }

  /** Calls what waits for the peer to go, once. */
  tellPeerGone(): void {
    const run = this.#onPeerGone;
    this.#onPeerGone = undefined;
    if (!this.answered) run?.();
  }

  /** What the request came by: for who the peer is, not for reading and writing. */
  get socket(): Socket {
    return this.#connection.socket;
  }

  /**
   * Takes the socket over, for another protocol (RFC 9110 section 7.8): the taker answers and closes it. Undefined when others
   * wait on the same connection or the peer is gone.
   */
  upgrade(): Detached | undefined {
    return this.answered ? undefined : this.#connection.detach(this);
  }

  /** Sends the answer. `headers` is name, value, name, value…; Content-Length is added. A second call does nothing. */
  reply(status: number, headers: readonly string[], body: string | Uint8Array | Pieces): void {
    if (this.answered || this.#connection.closed) return;
    const length = sizeOf(body);
    const head = this.#connection.writeHead(this, status, headers, length);
    if (length === 0 || status === 204 || status === 304 || this.method === 'HEAD') {
      this.text = head;
    } else if (typeof body === 'string') {
      this.text = head + body;
      this.isAscii = length === body.length;
    } else if (body instanceof Pieces) {
      const bytes = Buffer.allocUnsafe(head.length + length);
      bytes.write(head, 'latin1');
      body.writeTo(bytes, head.length);
      this.text = '';
      this.bytes = bytes;
    } else {
      this.text = head;
      this.bytes = body;
    }
    this.#connection.onAnswer(this);
  }
}

function sizeOf(body: string | Uint8Array | Pieces): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body instanceof Pieces ? body.size : body.byteLength;
}
