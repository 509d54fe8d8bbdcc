import { FRAME_OVERHEAD, CONTENT_HEADER_FIXED_BYTES } from '../wire/frames.js';
import type { MessageParts } from './message-origin.js';

const FLAG_CONTENT_TYPE = 0x80;
const FLAG_CONTENT_ENCODING = 0x40;
const FLAG_HEADERS = 0x20;

/**
 * A delivery's parts with one more header, a 64-bit integer, set in without decoding the others. Left out when the content
 * header would not fit in a frame any more, because it cannot be split.
 */
export function withIntegerHeader(
  parts: MessageParts,
  name: string,
  value: number,
  frameMax: number,
): MessageParts {
  const { properties } = parts;
  const entry = integerEntry(name, value);
  const size = properties.length + 4 + entry.length;
  if (size + CONTENT_HEADER_FIXED_BYTES + FRAME_OVERHEAD > frameMax) return parts;
  const flags = properties[0] ?? 0;
  let at = 2;
  if ((flags & FLAG_CONTENT_TYPE) !== 0) at += 1 + (properties[at] ?? 0);
  if ((flags & FLAG_CONTENT_ENCODING) !== 0) at += 1 + (properties[at] ?? 0);
  const hasHeaders = (flags & FLAG_HEADERS) !== 0;
  const view = Buffer.from(properties.buffer, properties.byteOffset, properties.length);
  const tableBytes = hasHeaders ? view.readUInt32BE(at) : 0;
  const before = view.subarray(0, at);
  const table = hasHeaders ? view.subarray(at + 4, at + 4 + tableBytes) : view.subarray(0, 0);
  const after = view.subarray(hasHeaders ? at + 4 + tableBytes : at);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(tableBytes + entry.length);
  const out = Buffer.concat([before, length, table, entry, after]);
  out[0] = flags | FLAG_HEADERS;
  return { route: parts.route, properties: out };
}

function integerEntry(name: string, value: number): Buffer {
  const entry = Buffer.alloc(1 + name.length + 1 + 8);
  entry[0] = name.length;
  entry.write(name, 1, 'latin1');
  entry.write('l', 1 + name.length, 'latin1');
  entry.writeBigInt64BE(BigInt(value), 2 + name.length);
  return entry;
}
