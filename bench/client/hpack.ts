/**
 * Header compression of HTTP/2 (RFC 7541) as far as a load generator needs it: it writes literals only and asks for a
 * dynamic table of size 0, so that the other side's blocks hold static entries and literals.
 */

const STATIC_NAMES = (
  ':authority :method :method :path :path :scheme :scheme :status :status :status :status :status :status :status ' +
  'accept-charset accept-encoding accept-language accept-ranges accept access-control-allow-origin age allow ' +
  'authorization cache-control content-disposition content-encoding content-language content-length content-location ' +
  'content-range content-type cookie date etag expect expires from host if-match if-modified-since if-none-match ' +
  'if-range if-unmodified-since last-modified link location max-forwards proxy-authenticate proxy-authorization ' +
  'range referer refresh retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary ' +
  'via www-authenticate'
).split(' ');

const STATIC_VALUES: Readonly<Record<number, string>> = {
  2: 'GET', 3: 'POST', 4: '/', 5: '/index.html', 6: 'http', 7: 'https', 8: '200', 9: '204', 10: '206', 11: '304',
  12: '400', 13: '404', 14: '500', 16: 'gzip, deflate',
}; // prettier-ignore

/** Lengths of the Huffman codes of 0 and of the printable characters from 32 on; longer ones do not occur here. */
const CODE_LENGTHS: readonly (readonly [number, number])[] = [
  [0, 13],
  ...[
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15,
    5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  ].map((length, index): readonly [number, number] => [index + 32, length]),
];

/** Code by `length * 65536 + bits`: the code is canonical, so lengths alone define it. */
const HUFFMAN = ((): ReadonlyMap<number, string> => {
  const codes = new Map<number, string>();
  let code = 0;
  for (let length = 5; length <= 15; length++) {
    for (const [symbol, symbolLength] of CODE_LENGTHS) {
      if (symbolLength !== length) continue;
      codes.set(length * 65536 + code, String.fromCharCode(symbol));
      code++;
    }
    code <<= 1;
  }
  return codes;
})();

function decodeHuffman(bytes: Uint8Array): string {
  let text = '';
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      length++;
      const symbol = length <= 15 ? HUFFMAN.get(length * 65536 + code) : undefined;
      if (symbol === undefined) continue;
      text += symbol;
      code = 0;
      length = 0;
    }
  }
  return text;
}

class BlockReader {
  at = 0;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = (this.bytes[this.at++] ?? 0) & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] ?? 0;
      value += (byte & 127) * 2 ** shift;
      if ((byte & 128) === 0) return value;
    }
  }

  string(): string {
    const huffman = ((this.bytes[this.at] ?? 0) & 128) !== 0;
    const length = this.integer(7);
    const bytes = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return huffman ? decodeHuffman(bytes) : Buffer.from(bytes).toString('latin1');
  }
}

/** Name and value pairs of a header block without dynamic entries. */
export function decodeHeaders(block: Uint8Array): Map<string, string> {
  const headers = new Map<string, string>();
  const reader = new BlockReader(block);
  while (reader.at < block.length) {
    const first = block[reader.at] ?? 0;
    if ((first & 128) !== 0) {
      const index = reader.integer(7);
      headers.set(STATIC_NAMES[index - 1] ?? `?${String(index)}`, STATIC_VALUES[index] ?? '');
    } else if ((first & 224) === 32) {
      reader.integer(5);
    } else {
      const index = reader.integer((first & 64) !== 0 ? 6 : 4);
      const name = index === 0 ? reader.string() : (STATIC_NAMES[index - 1] ?? `?${String(index)}`);
      headers.set(name, reader.string());
    }
  }
  return headers;
}

/** A block of plain literals that no table remembers. */
export function encodeHeaders(headers: readonly (readonly [string, string])[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of headers) {
    parts.push(Buffer.from([0]), literal(name), literal(value));
  }
  return Buffer.concat(parts);
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const rest = bytes.length - 127;
  const length = rest < 128 ? [127, rest] : [127, 128 | (rest & 127), rest >> 7];
  return Buffer.concat([Buffer.from(length), bytes]);
}
