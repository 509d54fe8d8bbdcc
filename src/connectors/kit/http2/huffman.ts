/**
 * The Huffman code of RFC 7541, appendix B. It is canonical: codes of one length are given in order of their symbols, so the
 * lengths define it. Decoding takes four bits at a time through a table of states; no code is shorter than five bits, so
 * that a step yields one symbol at most.
 */

/** Code length of each byte, then of the end-of-string symbol. */
const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const END_OF_STRING = 256;
const CODE_LENGTH_MAX = 30;
/** Padding is fewer than eight bits, all of them ones. */
const PADDING_BITS_MAX = 7;

/** Per symbol, its code; the length is in CODE_LENGTHS. */
export const HUFFMAN_CODES: Uint32Array = canonicalCodes();

function canonicalCodes(): Uint32Array {
  const codes = new Uint32Array(CODE_LENGTHS.length);
  let code = 0;
  for (let length = 1; length <= CODE_LENGTH_MAX; length++) {
    for (let symbol = 0; symbol < CODE_LENGTHS.length; symbol++) {
      if (CODE_LENGTHS[symbol] === length) codes[symbol] = code++;
    }
    code *= 2;
  }
  return codes;
}

export function huffmanCodeLength(symbol: number): number {
  return CODE_LENGTHS[symbol] ?? 0;
}

interface DecodingTable {
  /** Per state and four bits: the next state. FAILED = no such code. */
  readonly next: Uint16Array;
  /** Per state and four bits: symbol + 1 that is complete, or 0. */
  readonly symbol: Uint16Array;
  /** Per state: whether a string may end there. */
  readonly isEnd: Uint8Array;
}

const FAILED = 0xffff;
const TABLE = decodingTable();

/** A node is a state; children are nodes, or leaves as -1 - symbol. */
function codeTree(): { readonly children: readonly number[]; readonly nodes: number } {
  const children: number[] = [0, 0];
  let nodes = 1;
  for (let symbol = 0; symbol < CODE_LENGTHS.length; symbol++) {
    const length = huffmanCodeLength(symbol);
    const code = HUFFMAN_CODES[symbol] ?? 0;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const slot = node * 2 + ((code >>> bit) & 1);
      if (children[slot] === 0) {
        children[slot] = nodes++;
        children.push(0, 0);
      }
      node = children[slot] ?? 0;
    }
    children[node * 2 + (code & 1)] = -1 - symbol;
  }
  return { children, nodes };
}

function decodingTable(): DecodingTable {
  const { children, nodes } = codeTree();
  const next = new Uint16Array(nodes * 16);
  const symbol = new Uint16Array(nodes * 16);
  for (let slot = 0; slot < nodes * 16; slot++) {
    let node = slot >> 4;
    for (let bit = 3; bit >= 0 && node !== FAILED; bit--) {
      const child = children[node * 2 + ((slot >> bit) & 1)] ?? 0;
      if (child >= 0) node = child;
      else if (child === -1 - END_OF_STRING) node = FAILED;
      else {
        symbol[slot] = -child;
        node = 0;
      }
    }
    next[slot] = node;
  }
  const isEnd = new Uint8Array(nodes);
  for (let node = 0, depth = 0; depth <= PADDING_BITS_MAX; depth++) {
    isEnd[node] = 1;
    node = children[node * 2 + 1] ?? 0;
  }
  return { next, symbol, isEnd };
}

/** Decodes `bytes[start, end)`, one character a byte (latin1). Undefined when it is no valid code or wrongly padded. */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  const { next, symbol, isEnd } = TABLE;
  // Codes have five bits at least.
  const out = Buffer.allocUnsafe(Math.ceil(((end - start) * 8) / 5));
  let length = 0;
  let state = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    for (let slot = state * 16 + (byte >> 4), half = 0; half < 2; half++) {
      const found = symbol[slot] ?? 0;
      if (found !== 0) out[length++] = found - 1;
      state = next[slot] ?? FAILED;
      if (state === FAILED) return undefined;
      slot = state * 16 + (byte & 15);
    }
  }
  return isEnd[state] === 1 ? out.toString('latin1', 0, length) : undefined;
}
