import { BodyReader } from './body-reader.js';
import { framingOf } from './framing.js';
import type { Framing } from './framing.js';
import { GrowingBuffer } from './growing-buffer.js';
import { HeadScanner } from './head-scanner.js';
import type { RequestHead } from './request-head.js';

export interface RequestParserLimits {
  /** Request line and fields together. */
  readonly headerBytesMax: number;
  readonly bodyBytesMax: number;
}

/** One request, whole. */
export interface ParsedRequest {
  readonly head: RequestHead;
  /** Undefined when it was over the limit; then no further request follows. */
  readonly body: Buffer | undefined;
  readonly keepAlive: boolean;
}

const NO_BYTES = Buffer.alloc(0);

/** Cuts the bytes of one connection into requests. Pure: bytes in, requests out, one at a time as they are asked for. */
export class RequestParser {
  readonly #scanner: HeadScanner;
  readonly #reader: BodyReader;
  readonly #bodyBytesMax: number;
  /** What was fed and not yet used: `bytes[from..]`. */
  #bytes: Buffer = NO_BYTES;
  #from = 0;
  /** Holds `bytes` when they are a copy of ours. */
  #held: GrowingBuffer | undefined;
  #head: RequestHead | undefined;
  #framing: Framing | undefined;
  #awaitsContinue = false;

  constructor(limits: RequestParserLimits) {
    this.#scanner = new HeadScanner(limits.headerBytesMax);
    this.#reader = new BodyReader(limits.bodyBytesMax);
    this.#bodyBytesMax = limits.bodyBytesMax;
  }

  /** Bytes that wait to be read. */
  get heldBytes(): number {
    return this.#bytes.length - this.#from;
  }

  /** Where the next request stands. */
  get phase(): 'idle' | 'head' | 'body' {
    if (this.#head !== undefined) return 'body';
    return this.#scanner.begun ? 'head' : 'idle';
  }

  /** The sender wants to hear `100 Continue` before it sends the rest; said once, then false again. */
  takeAwaitsContinue(): boolean {
    const awaits = this.#awaitsContinue;
    this.#awaitsContinue = false;
    return awaits;
  }

  /** Adds bytes; they belong to the parser and to the bodies it gives from now on. */
  feed(chunk: Buffer): void {
    if (this.#from === this.#bytes.length) {
      this.#bytes = chunk;
      this.#from = 0;
      this.#held = undefined;
      return;
    }
    // What was used is left behind, else a peer that never stops would make the buffer grow for ever.
    if (this.#held === undefined || this.#from > 0) {
      this.#held = new GrowingBuffer();
      this.#held.append(this.#bytes, this.#from, this.#bytes.length);
      this.#from = 0;
    }
    this.#held.append(chunk, 0, chunk.length);
    this.#bytes = this.#held.view();
  }

  /** The next whole request, or undefined while there is none. Throws HttpRefusal; then nothing more can be read. */
  next(): ParsedRequest | undefined {
    const head = this.#head ?? this.#readHead();
    const framing = this.#framing;
    if (head === undefined || framing === undefined) return undefined;
    const reader = this.#reader;
    if (!reader.done) this.#from = reader.read(this.#bytes, this.#from);
    if (!reader.done) return undefined;
    this.#head = undefined;
    this.#awaitsContinue = false;
    return { head, body: reader.body, keepAlive: framing.keepAlive && !reader.oversize };
  }

  /** Everything that was fed and is no part of a request that was given: the connection goes on in another protocol. */
  takeRest(): Buffer {
    const rest = this.#bytes.subarray(this.#from);
    this.#from = this.#bytes.length;
    return rest;
  }

  #readHead(): RequestHead | undefined {
    const scanner = this.#scanner;
    if (this.#from === this.#bytes.length || !scanner.scan(this.#bytes, this.#from)) return undefined;
    const { length } = scanner;
    const head = scanner.finish(this.#bytes, this.#from);
    this.#from += length;
    const framing = framingOf(head);
    this.#head = head;
    this.#framing = framing;
    this.#reader.start(framing.contentLength);
    this.#awaitsContinue = framing.expectsContinue && !this.#reader.done && this.heldBytes === 0;
    // A peer that waits to be told is told no before it sends too much.
    if (this.#awaitsContinue && framing.contentLength > this.#bodyBytesMax) this.#reader.refuse();
    return head;
  }
}
