import { HttpRefusal } from './refusal.js';
import type { RequestHead } from './request-head.js';

/** How the body of a request is delimited, and what its sender wants of the connection. */
export interface Framing {
  /** Bytes; 0 without a body; -1 for chunks. */
  readonly contentLength: number;
  /** The connection may carry another request after this one. */
  readonly keepAlive: boolean;
  /** The sender waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
}

export const CHUNKED = -1;
/** Longer lengths cannot be counted exactly. */
const LENGTH_DIGITS_MAX = 15;

/**
 * Reads the fields that delimit a request (RFC 9112 section 6). Whatever two readers could understand in two ways is
 * refused: length and chunks together, two lengths, two codings, two hosts. Throws HttpRefusal.
 */
export function framingOf(head: RequestHead): Framing {
  const { url, minorVersion } = head;
  if (url.charCodeAt(0) !== SLASH && !(url === '*' && head.method === 'OPTIONS')) {
    throw new HttpRefusal(400, 'a request target of no origin');
  }
  const hosts = head.count('host');
  if (hosts > 1 || (hosts === 0 && minorVersion === 1)) throw new HttpRefusal(400, 'not one host');
  return {
    contentLength: bodyLength(head),
    keepAlive: keepsAlive(head.header('connection'), head),
    expectsContinue: expectsContinue(head),
  };
}

const SLASH = 0x2f;

function bodyLength(head: RequestHead): number {
  const length = head.header('content-length');
  const coding = head.header('transfer-encoding');
  if (coding === undefined) {
    if (length === undefined) return 0;
    if (head.count('content-length') > 1) throw new HttpRefusal(400, 'two lengths');
    if (length.length > LENGTH_DIGITS_MAX || !/^\d+$/.test(length))
      throw new HttpRefusal(400, 'a bad length');
    return Number(length);
  }
  if (length !== undefined) throw new HttpRefusal(400, 'a length and a transfer coding');
  if (head.minorVersion === 0) throw new HttpRefusal(400, 'a transfer coding in HTTP/1.0');
  if (head.count('transfer-encoding') > 1) throw new HttpRefusal(400, 'two transfer codings');
  if (coding.toLowerCase() !== 'chunked') {
    // Without chunks as the last coding nobody knows where the body ends (RFC 9112 section 6.3).
    throw new HttpRefusal(/(^|,)[ \t]*chunked$/i.test(coding) ? 501 : 400, 'an unknown transfer coding');
  }
  return CHUNKED;
}

function keepsAlive(first: string | undefined, head: RequestHead): boolean {
  if (first === undefined) return head.minorVersion === 1;
  const options = head.valuesOf('connection').join(',').toLowerCase().split(',');
  const has = (option: string): boolean => options.some((one) => one.trim() === option);
  return !has('close') && (head.minorVersion === 1 || has('keep-alive'));
}

function expectsContinue(head: RequestHead): boolean {
  const expectation = head.header('expect');
  if (expectation === undefined) return false;
  if (expectation.toLowerCase() !== '100-continue') throw new HttpRefusal(417, 'an unknown expectation');
  return head.minorVersion === 1;
}
