import { hash, timingSafeEqual } from 'node:crypto';
import type { SigningKey } from './signing-key.js';

/*
 * AWS Signature Version 4, the server's side: header and presigned forms. Source: "Create a signed AWS API request" of the
 * AWS General Reference. The canonical request is built from the bytes as they were received.
 */

/** An HTTP request as far as signatures cover it. */
export interface SignedRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  readonly body: Uint8Array;
  /** A header by its name in lower case; several of a name joined with commas. */
  joined(name: string): string | undefined;
}

/** What a request says of its signature. */
export interface Signature {
  readonly accessKey: string;
  /** `{date}/{region}/{service}/aws4_request`. */
  readonly scope: string;
  /** YYYYMMDD. */
  readonly date: string;
  readonly region: string;
  readonly service: string;
  /** YYYYMMDD'T'HHMMSS'Z'. */
  readonly time: string;
  /** Lower case, in the order signed. */
  readonly signedHeaders: readonly string[];
  /** Hexadecimal digits in lower case. */
  readonly signature: string;
  /** Seconds a presigned URL lives; undefined in the header form. */
  readonly expiresSeconds: number | undefined;
}

export type SignatureReading =
  | { readonly kind: 'unsigned' }
  /** Something signed, but not wholly; `problem` in words. */
  | { readonly kind: 'incomplete'; readonly problem: string }
  | { readonly kind: 'signed'; readonly signature: Signature };

const ALGORITHM = 'AWS4-HMAC-SHA256';
const TERMINATOR = 'aws4_request';
const SIGNED_HEADERS_MAX = 100;
const EXPIRES_SECONDS_MAX = 604_800;

/** Reads the signature of a request: of its Authorization header, else of its query string. */
export function readSignature(request: SignedRequest): SignatureReading {
  const authorization = request.joined('authorization');
  if (authorization !== undefined) return readHeaderForm(request, authorization);
  return request.url.includes('X-Amz-') ? readPresigned(request) : { kind: 'unsigned' };
}

function incomplete(problem: string): SignatureReading {
  return { kind: 'incomplete', problem };
}

/** What the same client says in each of its requests: of header forms read before, by all before their signature. */
const READ_BEFORE = new Map<string, Omit<Signature, 'time' | 'signature'>>();
const READ_BEFORE_MAX = 1_000;
const READ_BEFORE_CHARS_MAX = 500;
const LAST_PART = 'Signature=';

function readHeaderForm(request: SignedRequest, authorization: string): SignatureReading {
  const time = request.joined('x-amz-date');
  const last = authorization.lastIndexOf(LAST_PART);
  const start = authorization.slice(0, Math.max(0, last));
  const signature = authorization.slice(last + LAST_PART.length);
  const known = READ_BEFORE.get(start);
  if (known !== undefined && time?.startsWith(known.date) === true && isHexadecimal(signature)) {
    if (timeOf(time) !== undefined) return { kind: 'signed', signature: { ...known, time, signature } };
  }
  const reading = readWholeHeader(authorization, time);
  if (
    reading.kind === 'signed' &&
    reading.signature.signature === signature &&
    start.length <= READ_BEFORE_CHARS_MAX
  ) {
    if (READ_BEFORE.size >= READ_BEFORE_MAX) READ_BEFORE.clear();
    READ_BEFORE.set(start, reading.signature);
  }
  return reading;
}

function isHexadecimal(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

function readWholeHeader(authorization: string, time: string | undefined): SignatureReading {
  const space = authorization.indexOf(' ');
  const algorithm = space < 0 ? authorization : authorization.slice(0, space);
  if (algorithm !== ALGORITHM) return incomplete(`Authorization header must begin with ${ALGORITHM}.`);
  const parts = new Map<string, string>();
  for (const part of authorization.slice(space + 1).split(',', 4)) {
    const equals = part.indexOf('=');
    if (equals > 0) parts.set(part.slice(0, equals).trim(), part.slice(equals + 1).trim());
  }
  for (const name of ['Credential', 'SignedHeaders', 'Signature']) {
    if ((parts.get(name) ?? '') === '')
      return incomplete(`Authorization header requires '${name}' parameter.`);
  }
  if (time === undefined)
    return incomplete("Authorization header requires existence of 'X-Amz-Date' header.");
  return assemble({
    credential: parts.get('Credential') ?? '',
    time,
    signedHeaders: parts.get('SignedHeaders') ?? '',
    signature: parts.get('Signature') ?? '',
    expiresSeconds: undefined,
  });
}

function readPresigned(request: SignedRequest): SignatureReading {
  const parts = new Map(queryPairs(request.url).map(({ name, value }) => [decoded(name), decoded(value)]));
  const algorithm = parts.get('X-Amz-Algorithm');
  if (algorithm === undefined) return { kind: 'unsigned' };
  if (algorithm !== ALGORITHM) return incomplete(`X-Amz-Algorithm must be ${ALGORITHM}.`);
  for (const name of ['X-Amz-Credential', 'X-Amz-SignedHeaders', 'X-Amz-Signature', 'X-Amz-Date']) {
    if ((parts.get(name) ?? '') === '')
      return incomplete(`AWS query-string parameters must include '${name}'.`);
  }
  const expires = parts.get('X-Amz-Expires') ?? '';
  const expiresSeconds = /^\d{1,6}$/.test(expires) ? Number(expires) : 0;
  if (expiresSeconds < 1 || expiresSeconds > EXPIRES_SECONDS_MAX) {
    return incomplete(`X-Amz-Expires must be between 1 and ${EXPIRES_SECONDS_MAX} seconds.`);
  }
  return assemble({
    credential: parts.get('X-Amz-Credential') ?? '',
    time: parts.get('X-Amz-Date') ?? '',
    signedHeaders: parts.get('X-Amz-SignedHeaders') ?? '',
    signature: parts.get('X-Amz-Signature') ?? '',
    expiresSeconds,
  });
}

function assemble(parts: {
  readonly credential: string;
  readonly time: string;
  readonly signedHeaders: string;
  readonly signature: string;
  readonly expiresSeconds: number | undefined;
}): SignatureReading {
  const { credential, time, signature, expiresSeconds } = parts;
  const [accessKey = '', date = '', region = '', service = '', terminator, ...rest] = credential.split('/');
  if (terminator !== TERMINATOR || rest.length > 0 || accessKey === '' || !/^\d{8}$/.test(date)) {
    return incomplete(`Credential must be {access key}/YYYYMMDD/{region}/{service}/${TERMINATOR}.`);
  }
  if (timeOf(time) === undefined) return incomplete('Date must be in the form YYYYMMDDTHHMMSSZ.');
  if (!time.startsWith(date)) {
    return incomplete('Date in Credential scope does not match YYYYMMDD of the date of the request.');
  }
  const signedHeaders = parts.signedHeaders.split(';', SIGNED_HEADERS_MAX + 1);
  if (signedHeaders.length > SIGNED_HEADERS_MAX) return incomplete('Too many signed headers.');
  if (!signedHeaders.includes('host')) return incomplete("'Host' must be a signed header.");
  const scope = credential.slice(accessKey.length + 1);
  return {
    kind: 'signed',
    signature: { accessKey, scope, date, region, service, time, signedHeaders, signature, expiresSeconds },
  };
}

let lastText = '';
let lastTime: number | undefined;

/** Unix ms of a signature's time; undefined when it is none. Requests of one second say the same. */
export function timeOf(text: string): number | undefined {
  if (text === lastText) return lastTime;
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match.map(Number);
  lastText = text;
  lastTime = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
  return lastTime;
}

/** Whether the request carries the signature the key gives. Takes the same time wherever they differ. */
export function isSignedWith(key: SigningKey, request: SignedRequest, signature: Signature): boolean {
  const canonical = hash('sha256', canonicalRequest(request, signature), 'hex');
  const expected = key.sign(`${ALGORITHM}\n${signature.time}\n${signature.scope}\n${canonical}`);
  const given = signature.signature;
  return (
    given.length === expected.length &&
    timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected, 'latin1'))
  );
}

/** The text that both sides hash. */
export function canonicalRequest(request: SignedRequest, signature: Signature): string {
  const { method, url, body } = request;
  const mark = url.indexOf('?');
  let headers = '';
  for (const name of signature.signedHeaders) {
    headers += `${name}:${canonicalValue(request.joined(name) ?? '')}\n`;
  }
  const names = signature.signedHeaders.join(';');
  const path = canonicalPath(mark < 0 ? url : url.slice(0, mark));
  return `${method}\n${path}\n${mark < 0 ? '' : canonicalQuery(url)}\n${headers}\n${names}\n${hash('sha256', body, 'hex')}`;
}

function canonicalValue(value: string): string {
  const trimmed = value.trim();
  return trimmed.includes('  ') || trimmed.includes('\t') ? trimmed.replace(/\s+/g, ' ') : trimmed;
}

const PLAIN_PATH = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)+\/?$/;

/** The path without empty and dot segments, escaped once more than it was sent. */
function canonicalPath(path: string): string {
  if (path === '/' || path === '') return '/';
  if (PLAIN_PATH.test(path)) return path;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') segments.pop();
    else segments.push(escaped(segment));
  }
  return `/${segments.join('/')}${segments.length > 0 && path.endsWith('/') ? '/' : ''}`;
}

function canonicalQuery(url: string): string {
  const pairs = queryPairs(url)
    .filter(({ name }) => name !== 'X-Amz-Signature')
    .map(({ name, value }) => ({ name: escaped(decoded(name)), value: escaped(decoded(value)) }));
  pairs.sort((a, b) => compare(a.name, b.name) || compare(a.value, b.value));
  return pairs.map(({ name, value }) => `${name}=${value}`).join('&');
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Names and values of a URL's query as they stand there. */
function queryPairs(url: string): { readonly name: string; readonly value: string }[] {
  const mark = url.indexOf('?');
  if (mark < 0) return [];
  const pairs: { name: string; value: string }[] = [];
  for (const pair of url.slice(mark + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    pairs.push(
      equals < 0 ? { name: pair, value: '' } : { name: pair.slice(0, equals), value: pair.slice(equals + 1) },
    );
  }
  return pairs;
}

/** Malformed escapes stay as they are: they sign as the text they look like. */
function decoded(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

/** Everything but A–Z a–z 0–9 - . _ ~ as %XX. Text of an HTTP head holds no lone surrogates, which would throw. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
