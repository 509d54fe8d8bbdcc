import { FIELD_OVERHEAD_BYTES, HeaderTable } from './hpack-table.js';
import { decodeHuffman } from './huffman.js';
import { ConnectionError, ErrorCode } from './protocol.js';

/** A decoded header block: names and values, alternately, in the order sent. Never changed. */
export interface HeaderList {
  readonly fields: readonly string[];
  /** Over the limit: the fields above it were dropped. */
  readonly isTooLarge: boolean;
}

/** Integers in a block need no more than this; a longer one is an attack. */
const INTEGER_BITS_MAX = 28;
/** Blocks worth remembering. */
const REMEMBERED_BLOCK_BYTES_MAX = 1024;

/**
 * Header decompression (RFC 7541), one for each connection. Throws ConnectionError (COMPRESSION_ERROR) when a block is
 * broken; the table is out of step then, and the connection must end.
 *
 * A client's calls are alike, so their blocks are too: a block equal to the last one, when neither changed the table, gives
 * the same list object. Callers may remember by it what they made of the list.
 */
export class HpackDecoder {
  readonly #table: HeaderTable;
  readonly #tableBytesMax: number;
  readonly #listBytesMax: number;
  #block: Uint8Array = new Uint8Array(0);
  #at = 0;
  #fields: string[] = [];
  #listBytes = 0;
  #lastBlock: Buffer | undefined;
  #lastList: HeaderList = { fields: [], isTooLarge: false };

  constructor(limits: { readonly tableBytesMax: number; readonly listBytesMax: number }) {
    this.#tableBytesMax = limits.tableBytesMax;
    this.#listBytesMax = limits.listBytesMax;
    this.#table = new HeaderTable(limits.tableBytesMax);
  }

  decode(block: Uint8Array): HeaderList {
    const last = this.#lastBlock;
    if (last?.length === block.length && last.equals(block)) return this.#lastList;
    this.#block = block;
    this.#at = 0;
    this.#fields = [];
    this.#listBytes = 0;
    const changes = this.#table.changes;
    this.#sizeUpdates();
    while (this.#at < block.length) this.#field();
    this.#lastList = { fields: this.#fields, isTooLarge: this.#listBytes > this.#listBytesMax };
    const isRepeatable = this.#table.changes === changes && block.length <= REMEMBERED_BLOCK_BYTES_MAX;
    this.#lastBlock = isRepeatable ? Buffer.from(block) : undefined;
    this.#block = new Uint8Array(0);
    return this.#lastList;
  }

  /** Only at the beginning of a block (section 4.2). */
  #sizeUpdates(): void {
    while (((this.#block[this.#at] ?? 0) & 0xe0) === 0x20) {
      const size = this.#integer(5);
      if (size > this.#tableBytesMax) throw broken('a table size above the limit');
      this.#table.resize(size);
    }
  }

  #field(): void {
    const first = this.#block[this.#at] ?? 0;
    if (first >= 0x80) {
      const index = this.#integer(7);
      const name = this.#table.name(index);
      const value = this.#table.value(index);
      if (name === undefined || value === undefined) throw broken('an index beyond the table');
      this.#emit(name, value);
      return;
    }
    const isAdded = first >= 0x40;
    if (!isAdded && first >= 0x20) throw broken('a table size inside a block');
    const index = this.#integer(isAdded ? 6 : 4);
    const name = index === 0 ? this.#string() : this.#table.name(index);
    if (name === undefined) throw broken('an index beyond the table');
    const value = this.#string();
    if (isAdded) this.#table.add(name, value);
    this.#emit(name, value);
  }

  #emit(name: string, value: string): void {
    this.#listBytes += name.length + value.length + FIELD_OVERHEAD_BYTES;
    if (this.#listBytes <= this.#listBytesMax) this.#fields.push(name, value);
  }

  /** Section 5.1. */
  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      if (shift + 7 >= INTEGER_BITS_MAX) throw broken('an integer too long');
    }
  }

  /** Section 5.2; one character a byte. */
  #string(): string {
    const isHuffman = (this.#block[this.#at] ?? 0) >= 0x80;
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#block.length) throw broken('a string beyond the block');
    this.#at = end;
    if (!isHuffman) return latin1(this.#block, start, end);
    const text = decodeHuffman(this.#block, start, end);
    if (text === undefined) throw broken('a string with a bad Huffman code');
    return text;
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw broken('a block that is cut off');
    return byte;
  }
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  if (Buffer.isBuffer(bytes)) return bytes.toString('latin1', start, end);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

function broken(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.compressionError, `header block with ${what}`);
}
