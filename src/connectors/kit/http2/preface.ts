import { PREFACE } from './protocol.js';

/** What the first bytes of a connection are. `rest` is what follows the preface. */
export type Greeting =
  | { readonly kind: 'unknown-yet' }
  | { readonly kind: 'http2'; readonly rest: Buffer }
  | { readonly kind: 'other'; readonly bytes: Buffer };

const UNKNOWN_YET: Greeting = { kind: 'unknown-yet' };
const NO_BYTES = Buffer.alloc(0);

/** Tells HTTP/2 with prior knowledge (RFC 9113, section 3.3) from anything else, by the first byte that differs. */
export class PrefaceReader {
  #seen: Buffer = NO_BYTES;

  push(chunk: Buffer): Greeting {
    const bytes = this.#seen.length === 0 ? chunk : Buffer.concat([this.#seen, chunk]);
    const length = Math.min(bytes.length, PREFACE.length);
    if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) return { kind: 'other', bytes };
    if (length === PREFACE.length) return { kind: 'http2', rest: bytes.subarray(length) };
    this.#seen = bytes;
    return UNKNOWN_YET;
  }
}

/** Whether bytes begin as a request of HTTP/1. */
export function looksLikeHttp1(bytes: Buffer): boolean {
  return /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT) /.test(bytes.toString('latin1', 0, 16));
}
