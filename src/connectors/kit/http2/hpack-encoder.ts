/**
 * Header compression (RFC 7541) as a server with few fields needs it: literals that no table remembers, so that blocks do
 * not depend on each other and can be made once.
 */

const STATIC_INDEX: Readonly<Record<string, number>> = {
  ':status': 8,
  'content-length': 28,
  'content-type': 31,
};
const INDEXED_STATUS: Readonly<Record<string, number>> = {
  '200': 8,
  '204': 9,
  '206': 10,
  '304': 11,
  '400': 12,
  '404': 13,
  '500': 14,
};

/** A block of the fields given, in order. Names in lower case; values one byte a character. */
export function encodeHeaders(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields) {
    const indexed = name === ':status' ? INDEXED_STATUS[value] : undefined;
    if (indexed !== undefined) {
      parts.push(Buffer.from([0x80 | indexed]));
      continue;
    }
    const index = STATIC_INDEX[name];
    if (index === undefined) parts.push(Buffer.from([0]), literal(name));
    else parts.push(integer(index, 4, 0));
    parts.push(literal(value));
  }
  return Buffer.concat(parts);
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([integer(bytes.length, 7, 0), bytes]);
}

/** Section 5.1: a number in what a first byte leaves of itself, and in the bytes that follow. */
export function integer(value: number, prefixBits: number, first: number): Buffer {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) return Buffer.from([first | value]);
  const bytes = [first | mask];
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
