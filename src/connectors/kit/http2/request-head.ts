import type { HeaderList } from './hpack-decoder.js';

/** The header fields of a request, checked (RFC 9113, section 8.3). */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  /** All but the pseudo fields: names and values, alternately. */
  readonly fields: readonly string[];
  /** Bytes of the body when the peer said it, else undefined. */
  readonly contentLength: number | undefined;
  /** Over the limit: some fields are missing. */
  readonly isTooLarge: boolean;
}

const PSEUDO = [':method', ':scheme', ':path', ':authority'];
/** Fields of HTTP/1.1 that mean nothing here and are an error (section 8.2.2). */
const CONNECTION_FIELDS = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
/** Section 8.2.1: no capitals, no controls, no blanks; a colon only in pseudo fields. */
const NAME = /^[!-9;-@[-~]+$/;
// Nul, line feed and carriage return.
const BAD_VALUE = /[\0\n\r]/;

/** The request that a header list asks for; undefined when it is malformed. */
export function requestHead(list: HeaderList): RequestHead | undefined {
  const pseudo: (string | undefined)[] = [];
  const { fields } = list;
  let at = 0;
  for (; fields[at]?.startsWith(':') === true; at += 2) {
    const place = PSEUDO.indexOf(fields[at] ?? '');
    if (place < 0 || pseudo[place] !== undefined) return undefined;
    pseudo[place] = fields[at + 1];
  }
  const [method, scheme, path, authority] = pseudo;
  if (list.isTooLarge) {
    const rest = fields.slice(at);
    return {
      method: method ?? '',
      path: path ?? '',
      authority: '',
      fields: rest,
      contentLength: undefined,
      isTooLarge: true,
    };
  }
  if (method === undefined || scheme === undefined || path === undefined || path === '') return undefined;
  const rest = fields.slice(at);
  if (!areRegular(rest)) return undefined;
  const length = fieldOf(rest, 'content-length');
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return undefined;
  return {
    method,
    path,
    authority: authority ?? '',
    fields: rest,
    contentLength: length === undefined ? undefined : Number(length),
    isTooLarge: false,
  };
}

/** Whether fields may stand in a trailer section: no pseudo fields, nothing of HTTP/1.1. */
export function areRegular(fields: readonly string[]): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const value = fields[at + 1] ?? '';
    if (!NAME.test(name) || CONNECTION_FIELDS.has(name) || BAD_VALUE.test(value)) return false;
    if (name === 'te' && value !== 'trailers') return false;
  }
  return true;
}

/** The first value of a field. */
export function fieldOf(fields: readonly string[], name: string): string | undefined {
  for (let at = 0; at < fields.length; at += 2) {
    if (fields[at] === name) return fields[at + 1];
  }
  return undefined;
}
