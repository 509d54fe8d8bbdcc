import { CLASS_OF_BYTE, COLON, CR, FIELD, LF, SPACE, TAB, TARGET, TOKEN } from './characters.js';
import { HttpRefusal } from './refusal.js';
import { RequestHead } from './request-head.js';

/** Longest method taken. */
const METHOD_BYTES_MAX = 32;
/** Empty lines before a request line that are skipped (RFC 9112 section 2.2), in bytes. */
const LEADING_BYTES_MAX = 4;
/** Fields of one head. */
const FIELDS_MAX = 500;

const LEADING = 0;
const LEADING_LF = 1;
const METHOD = 2;
const IN_TARGET = 3;
const VERSION = 4;
const LINE_START = 5;
const NAME = 6;
const VALUE_START = 7;
const VALUE = 8;
const VALUE_LF = 9;
const END_LF = 10;

const VERSION_START = Buffer.from('HTTP/');
/** Positions in `HTTP/1.1\r\n`. */
const MAJOR_AT = 5;
const POINT_AT = 6;
const MINOR_AT = 7;
const CR_AT = 8;
const POINT = 0x2e;
const ZERO = 0x30;
const ONE = 0x31;
const NINE = 0x39;

/**
 * Reads request line and fields byte by byte, each byte once however they are cut, and refuses at the first byte that
 * does not fit (RFC 9112): bare CR or LF, NUL, folded lines, white space before a colon.
 */
export class HeadScanner {
  readonly #bytesMax: number;
  #state = LEADING;
  /** Everything is counted from the first byte of the head. */
  #at = 0;
  #base = 0;
  #start = 0;
  #methodStart = 0;
  #methodEnd = 0;
  #targetEnd = 0;
  #minorVersion = 1;
  #fields: number[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The first byte of a request line was taken, the head is not whole. */
  get begun(): boolean {
    return this.#state >= METHOD;
  }

  /** Bytes of the head taken so far. */
  get length(): number {
    return this.#at;
  }

  /**
   * Goes on in the head that starts at `bytes[from]`, to the head's end or that of the bytes. True when it is whole:
   * then `finish` gives it. Throws HttpRefusal.
   */
  scan(bytes: Buffer, from: number): boolean {
    const end = Math.min(bytes.length, from + this.#bytesMax);
    let at = from + this.#at;
    this.#base = from;
    while (at < end) {
      switch (this.#state) {
        case METHOD:
          at = this.#scanMethod(bytes, at, end);
          break;
        case IN_TARGET:
          at = this.#scanTarget(bytes, at, end);
          break;
        case NAME:
          at = this.#scanName(bytes, at, end);
          break;
        case VALUE:
          at = this.#scanValue(bytes, at, end);
          break;
        case END_LF:
          if (bytes[at] !== LF) throw malformed('a bare CR');
          this.#at = at + 1 - from;
          return true;
        default:
          at += this.#take(bytes[at] ?? 0, at - from);
      }
    }
    this.#at = at - from;
    if (this.#at < this.#bytesMax) return false;
    if (this.#state <= VERSION) throw new HttpRefusal(414, 'the request target is too long');
    throw new HttpRefusal(431, 'the fields are too large');
  }

  /** The whole head at `bytes[from]`; the scanner starts anew. */
  finish(bytes: Buffer, from: number): RequestHead {
    const text = bytes.toString('latin1', from, from + this.#at);
    const head = new RequestHead({
      method: text.slice(this.#methodStart, this.#methodEnd),
      target: text.slice(this.#methodEnd + 1, this.#targetEnd),
      minorVersion: this.#minorVersion,
      text,
      fields: this.#fields,
    });
    this.#state = LEADING;
    this.#at = 0;
    this.#fields = [];
    return head;
  }

  #scanMethod(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && ((CLASS_OF_BYTE[bytes[at] ?? 0] ?? 0) & TOKEN) !== 0) at++;
    const size = at - this.#base - this.#methodStart;
    if (size > METHOD_BYTES_MAX) throw malformed('the method is too long');
    if (at === end) return at;
    if (size === 0 || bytes[at] !== SPACE) throw malformed('no method');
    this.#methodEnd = at - this.#base;
    this.#state = IN_TARGET;
    return at + 1;
  }

  #scanTarget(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && ((CLASS_OF_BYTE[bytes[at] ?? 0] ?? 0) & TARGET) !== 0) at++;
    if (at === end) return at;
    if (at - this.#base === this.#methodEnd + 1 || bytes[at] !== SPACE) throw malformed('no request target');
    this.#targetEnd = at - this.#base;
    this.#state = VERSION;
    return at + 1;
  }

  #scanName(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && ((CLASS_OF_BYTE[bytes[at] ?? 0] ?? 0) & TOKEN) !== 0) at++;
    if (at === end) return at;
    if (at - this.#base === this.#start || bytes[at] !== COLON) throw malformed('a field without a name');
    this.#fields.push(this.#start, at - this.#base);
    this.#state = VALUE_START;
    return at + 1;
  }

  #scanValue(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && ((CLASS_OF_BYTE[bytes[at] ?? 0] ?? 0) & FIELD) !== 0) at++;
    if (at === end) return at;
    if (bytes[at] !== CR) throw malformed('a control character in a field');
    let last = at;
    while (last - this.#base > this.#start && isBlank(bytes[last - 1])) last--;
    this.#fields.push(this.#start, last - this.#base);
    this.#state = VALUE_LF;
    return at + 1;
  }

  /** Takes one byte of the states between; gives how many it used up: 0 leaves it to the next state. */
  #take(byte: number, at: number): 0 | 1 {
    switch (this.#state) {
      case LEADING:
        if (byte === CR && at < LEADING_BYTES_MAX) {
          this.#state = LEADING_LF;
          return 1;
        }
        this.#methodStart = at;
        this.#state = METHOD;
        return 0;
      case LEADING_LF:
        if (byte !== LF) throw malformed('a bare CR');
        this.#state = LEADING;
        return 1;
      case VERSION:
        this.#takeVersion(byte, at - this.#targetEnd - 1);
        return 1;
      case LINE_START:
        this.#startLine(byte, at);
        return byte === CR ? 1 : 0;
      case VALUE_START:
        if (isBlank(byte)) return 1;
        this.#start = at;
        this.#state = VALUE;
        return 0;
      case VALUE_LF:
        if (byte !== LF) throw malformed('a bare CR');
        this.#state = LINE_START;
        return 1;
      default:
        return 1;
    }
  }

  #startLine(byte: number, at: number): void {
    if (byte === CR) {
      this.#state = END_LF;
      return;
    }
    if (isBlank(byte)) throw malformed('a folded field');
    if (this.#fields.length >= FIELDS_MAX * 4) throw new HttpRefusal(431, 'too many fields');
    this.#start = at;
    this.#state = NAME;
  }

  #takeVersion(byte: number, at: number): void {
    const isDigit = byte >= ZERO && byte <= NINE;
    if (at < MAJOR_AT ? byte !== VERSION_START[at] : (at === MAJOR_AT || at === MINOR_AT) && !isDigit) {
      throw malformed('no HTTP version');
    }
    if (at === MAJOR_AT && byte !== ONE) throw new HttpRefusal(505, 'another HTTP version');
    if (at === POINT_AT && byte !== POINT) throw malformed('no HTTP version');
    if (at === MINOR_AT) {
      if (byte > ONE) throw new HttpRefusal(505, 'another HTTP version');
      this.#minorVersion = byte - ZERO;
    }
    if (at === CR_AT && byte !== CR) throw malformed('no end of the request line');
    if (at > CR_AT) {
      if (byte !== LF) throw malformed('a bare CR');
      this.#state = LINE_START;
    }
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

function malformed(reason: string): HttpRefusal {
  return new HttpRefusal(400, reason);
}
