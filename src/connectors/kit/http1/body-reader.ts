import { CLASS_OF_BYTE, CR, FIELD, LF, SEMICOLON } from './characters.js';
import { CHUNKED } from './framing.js';
import { GrowingBuffer } from './growing-buffer.js';
import { HttpRefusal } from './refusal.js';

/** Hexadecimal digits of a chunk's size. */
const SIZE_DIGITS_MAX = 8;
/** Extensions of chunks and trailer fields of one body together; both are skipped. */
const EXTRA_BYTES_MAX = 16 * 1024;
/** Bodies over the limit are read on to at most this many times the limit, so that the peer reads our answer. */
const OVERSIZE_READ_FACTOR = 4;

const SIZE = 0;
const EXTENSION = 1;
const SIZE_LF = 2;
const DATA = 3;
const DATA_CR = 4;
const DATA_LF = 5;
const TRAILER_START = 6;
const TRAILER = 7;
const TRAILER_LF = 8;
const END_LF = 9;
const DONE = 10;

const NO_BODY = Buffer.alloc(0);

/** Collects one body after another: of a known length, or in chunks (RFC 9112 section 7.1). */
export class BodyReader {
  readonly #bytesMax: number;
  #state = DONE;
  #chunked = false;
  /** Bytes that are still to come: of the body, or of the chunk. */
  #left = 0;
  #digits = 0;
  #extraBytes = 0;
  /** Bytes of the body so far, kept or thrown away. */
  #length = 0;
  #whole: Buffer | undefined;
  #parts: GrowingBuffer | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins a body of `contentLength` bytes, or one in chunks. */
  start(contentLength: number): void {
    this.#chunked = contentLength === CHUNKED;
    this.#left = this.#chunked ? 0 : contentLength;
    this.#digits = 0;
    this.#extraBytes = 0;
    this.#length = 0;
    this.#whole = undefined;
    this.#parts = undefined;
    this.#state = this.#chunked ? SIZE : contentLength === 0 ? DONE : DATA;
  }

  /** Counts the body as one over the limit without reading it. */
  refuse(): void {
    this.#length = this.#bytesMax + 1;
    this.#state = DONE;
  }

  /** All was read, or so much too much that it is time to answer. */
  get done(): boolean {
    return this.#state === DONE;
  }

  /** There is more than the limit. Then no byte of the body is kept. */
  get oversize(): boolean {
    return this.#length > this.#bytesMax;
  }

  /** The body; may be a view of the bytes it was read from. Undefined when it is over the limit. Only when done. */
  get body(): Buffer | undefined {
    if (this.oversize) return undefined;
    return this.#whole ?? this.#parts?.view() ?? NO_BODY;
  }

  /** Takes what belongs to the body of `bytes[from..]`; gives where it stopped. Throws HttpRefusal. */
  read(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && this.#state !== DONE) {
      if (this.#state === DATA) at = this.#readData(bytes, at);
      else if (this.#state === EXTENSION || this.#state === TRAILER) at = this.#skipText(bytes, at);
      else this.#take(bytes[at++] ?? 0);
    }
    return at;
  }

  #readData(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#left);
    const isFirst = this.#length === 0;
    this.#left -= to - from;
    this.#length += to - from;
    if (this.oversize) {
      this.#whole = undefined;
      this.#parts = undefined;
      if (this.#length > this.#bytesMax * OVERSIZE_READ_FACTOR) {
        this.#state = DONE;
        return to;
      }
    } else if (isFirst && !this.#chunked && this.#left === 0) {
      this.#whole = bytes.subarray(from, to);
    } else {
      this.#parts ??= new GrowingBuffer();
      this.#parts.append(bytes, from, to);
    }
    if (this.#left === 0) this.#state = this.#chunked ? DATA_CR : DONE;
    return to;
  }

  #skipText(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && ((CLASS_OF_BYTE[bytes[at] ?? 0] ?? 0) & FIELD) !== 0) at++;
    this.#extraBytes += at - from;
    if (this.#extraBytes > EXTRA_BYTES_MAX) throw new HttpRefusal(431, 'too many extensions or trailers');
    if (at === bytes.length) return at;
    if (bytes[at] !== CR) throw malformed();
    this.#state = this.#state === EXTENSION ? SIZE_LF : TRAILER_LF;
    return at + 1;
  }

  /** Takes one byte of what stands between the chunks. */
  #take(byte: number): void {
    switch (this.#state) {
      case SIZE:
        this.#takeSize(byte);
        return;
      case SIZE_LF:
        this.#expect(byte, LF, this.#left === 0 ? TRAILER_START : DATA);
        return;
      case DATA_CR:
        this.#expect(byte, CR, DATA_LF);
        return;
      case DATA_LF:
        this.#expect(byte, LF, SIZE);
        return;
      case TRAILER_START:
        if (byte !== CR && ((CLASS_OF_BYTE[byte] ?? 0) & FIELD) === 0) throw malformed();
        this.#state = byte === CR ? END_LF : TRAILER;
        this.#extraBytes++;
        return;
      case TRAILER_LF:
        this.#expect(byte, LF, TRAILER_START);
        return;
      default:
        this.#expect(byte, LF, DONE);
    }
  }

  #takeSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      if (++this.#digits > SIZE_DIGITS_MAX) throw malformed();
      this.#left = this.#left * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw malformed();
    this.#digits = 0;
    if (byte === CR) this.#state = SIZE_LF;
    else if (byte === SEMICOLON) this.#state = EXTENSION;
    else throw malformed();
  }

  #expect(byte: number, wanted: number, next: number): void {
    if (byte !== wanted) throw malformed();
    this.#state = next;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

function malformed(): HttpRefusal {
  return new HttpRefusal(400, 'malformed chunks');
}
