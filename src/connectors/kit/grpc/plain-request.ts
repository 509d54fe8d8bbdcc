import type { Log } from '../../../base/log.js';
import { encodeHeaders } from '../http2/hpack-encoder.js';
import { fieldOf, type RequestHead } from '../http2/request-head.js';
import type { Http2Stream, StreamServer } from '../http2/stream.js';
import type { WholeRequest } from '../whole-request.js';

const NO_BYTES = new Uint8Array(0);
const NO_BODY = Buffer.alloc(0);
/** Answers that have no body (RFC 9110, section 6.4.1). */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Who serves requests over HTTP/2 that are no gRPC. */
export interface PlainRequests {
  /** Larger bodies are refused. */
  readonly bodyBytesMax: number;
  /** Answers one whole request. It owns its failures: a rejection is logged and answered with an empty 500. */
  handle(request: WholeRequest, peerName: string | undefined): void | Promise<void>;
  /** Refuses a request whose body is over the limit (the request has none). */
  refuseOversize(request: WholeRequest): void;
}

/** What requests of one connection share. */
export interface PlainContext {
  readonly log: Log;
  readonly peerName: string | undefined;
  readonly heldBytesMax: number;
  heldBytes: number;
}

/** A request over HTTP/2 that is no gRPC: it is served when it is whole. */
export class PlainRequest implements StreamServer, WholeRequest {
  readonly #stream: Http2Stream;
  readonly #head: RequestHead;
  readonly #requests: PlainRequests;
  readonly #context: PlainContext;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Handed over or refused: what still comes of the body is thrown away. */
  #isTaken = false;
  #isAnswered = false;
  #isGone = false;
  #onPeerGone: (() => void) | undefined;
  body: Buffer = NO_BODY;

  constructor(stream: Http2Stream, head: RequestHead, requests: PlainRequests, context: PlainContext) {
    this.#stream = stream;
    this.#head = head;
    this.#requests = requests;
    this.#context = context;
  }

  get method(): string {
    return this.#head.method;
  }

  get url(): string {
    return this.#head.path;
  }

  header(name: string): string | undefined {
    const value = fieldOf(this.#head.fields, name);
    return value === undefined && name === 'host' ? this.#head.authority : value;
  }

  onPeerGone(run: (() => void) | undefined): void {
    this.#onPeerGone = run;
    if (this.#isGone) this.#tellGone();
  }

  reply(status: number, headers: readonly string[], body: string | Uint8Array): void {
    if (this.#isAnswered || this.#isGone) return;
    this.#isAnswered = true;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const fields: [string, string][] = [[':status', String(status)]];
    for (let at = 0; at < headers.length; at += 2) {
      fields.push([(headers[at] ?? '').toLowerCase(), headers[at + 1] ?? '']);
    }
    if (!BODILESS.has(status)) fields.push(['content-length', String(bytes.length)]);
    const isEnd = bytes.length === 0 || BODILESS.has(status) || this.method === 'HEAD';
    this.#stream.respond(encodeHeaders(fields), isEnd);
    if (isEnd) return;
    this.#stream.write(NO_BYTES, bytes);
    this.#stream.finish(NO_BYTES);
  }

  onData(piece: Buffer, flowBytes: number): void {
    this.#stream.consumed(flowBytes);
    if (this.#isTaken) return;
    const { heldBytes, heldBytesMax } = this.#context;
    const isTooMuch = heldBytes + piece.length > heldBytesMax;
    if (isTooMuch || this.#bytes + piece.length > this.#requests.bodyBytesMax) {
      this.#letGo();
      this.#isTaken = true;
      this.#run(() => this.#requests.refuseOversize(this));
      return;
    }
    // A copy: the piece is a view of what the next read writes over.
    this.#pieces.push(Buffer.from(piece));
    this.#bytes += piece.length;
    this.#context.heldBytes += piece.length;
  }

  onEnd(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.body = Buffer.concat(this.#pieces);
    this.#letGo();
    this.#run(() => this.#requests.handle(this, this.#context.peerName));
  }

  onOver(): void {
    this.#letGo();
    this.#isGone = true;
    this.#tellGone();
  }

  onRoom(): void {
    // The one answer is written whole; what waits of it is bounded like every stream's.
  }

  #tellGone(): void {
    const run = this.#onPeerGone;
    this.#onPeerGone = undefined;
    if (!this.#isAnswered) run?.();
  }

  #letGo(): void {
    this.#context.heldBytes -= this.#bytes;
    this.#bytes = 0;
    this.#pieces = [];
  }

  #run(work: () => void | Promise<void>): void {
    const failed = (error: unknown): void => {
      this.#context.log.error('http handler failed', { error });
      this.reply(500, [], '');
    };
    try {
      work()?.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
