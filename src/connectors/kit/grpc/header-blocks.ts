import { status, type GrpcStatus } from '../grpc-status.js';
import { encodeHeaders } from '../http2/hpack-encoder.js';

const RESPONSE_FIELDS = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
] as const;

/** Begins every answer that has messages. */
export const RESPONSE_HEADERS: Uint8Array = encodeHeaders(RESPONSE_FIELDS);

/** Ends every answer that went well. */
export const OK_TRAILERS: Uint8Array = encodeHeaders([['grpc-status', String(status.OK)]]);

/** Longest text of a status; clients bound the whole trailers, mostly to 8 KiB. */
const DETAILS_BYTES_MAX = 4096;

/** The trailers of a status. */
export function statusTrailers(end: GrpcStatus): Buffer {
  return encodeHeaders(trailerFields(end));
}

/** A status as the whole answer, when nothing was sent before ("trailers only"). */
export function statusOnly(end: GrpcStatus): Buffer {
  return encodeHeaders([...RESPONSE_FIELDS, ...trailerFields(end)]);
}

/** An answer to a request that is no gRPC; a text follows. */
export function plainHeaders(httpStatus: number, length: number): Buffer {
  return encodeHeaders([
    [':status', String(httpStatus)],
    ['content-type', 'text/plain'],
    ['content-length', String(length)],
  ]);
}

function trailerFields({ code, details, trailers }: GrpcStatus): [string, string][] {
  const fields: [string, string][] = [['grpc-status', String(code)]];
  if (details !== '') fields.push(['grpc-message', percentEncoded(details)]);
  for (const [name, value] of trailers ?? []) {
    // Base64 without padding, which receivers must take.
    fields.push([
      name,
      typeof value === 'string' ? value : Buffer.from(value).toString('base64').replace(/=+$/, ''),
    ]);
  }
  return fields;
}

/**
 * gRPC's own encoding of texts: UTF-8, with all but printable ASCII, and the percent sign, as %XX. So are blanks at the ends: a
 * field with such is malformed (RFC 9113, section 8.2.1), and peers drop it.
 */
export function percentEncoded(text: string): string {
  if (text.length < DETAILS_BYTES_MAX && /^(?! )[ -$&-~]*$(?<! )/.test(text)) return text;
  const bytes = Buffer.from(text);
  let encoded = '';
  for (const [place, byte] of bytes.entries()) {
    const isAtEnd = place === 0 || place === bytes.length - 1;
    const isPlain = byte >= (isAtEnd ? 0x21 : 0x20) && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    if (encoded.length >= DETAILS_BYTES_MAX) break;
  }
  return encoded;
}
