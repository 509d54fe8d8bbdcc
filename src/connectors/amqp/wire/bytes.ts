import { isUtf8 } from 'node:buffer';
import { ReplyError } from './reply.js';

/** A value runs past the end of what `reader` reads: 502, unless somebody knows better. */
export class EndOfBytes extends ReplyError {
  readonly reader: WireReader;

  constructor(reader: WireReader) {
    super(502, 'value runs past the end of its frame');
    this.reader = reader;
  }
}

/** Reads AMQP's primitive types from one frame's payload. */
export class WireReader {
  readonly buffer: Buffer;
  at: number;
  readonly end: number;

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    this.buffer = buffer;
    this.at = start;
    this.end = end;
  }

  get left(): number {
    return this.end - this.at;
  }

  /** Moves past `count` bytes and returns where they began. */
  take(count: number): number {
    const from = this.at;
    if (count > this.end - from) throw new EndOfBytes(this);
    this.at = from + count;
    return from;
  }

  octet(): number {
    return this.buffer.readUInt8(this.take(1));
  }

  short(): number {
    return this.buffer.readUInt16BE(this.take(2));
  }

  long(): number {
    return this.buffer.readUInt32BE(this.take(4));
  }

  /** u64 as a number: exact up to 2^53, which no delivery tag or size of ours passes. */
  longLong(): number {
    const from = this.take(8);
    return this.buffer.readUInt32BE(from) * 0x1_0000_0000 + this.buffer.readUInt32BE(from + 4);
  }

  /** A short string; refused when it is not UTF-8. */
  shortString(): string {
    const length = this.octet();
    const from = this.take(length);
    const text = this.buffer.toString('utf8', from, from + length);
    // The replacement character appears for malformed bytes, and rarely because it was sent.
    if (text.includes('\ufffd') && !isUtf8(this.buffer.subarray(from, from + length))) {
      throw new ReplyError(501, 'Malformed UTF-8 in shortstr');
    }
    return text;
  }

  /** A long string: a view of the bytes, not a copy. */
  longString(): Buffer {
    const length = this.long();
    const from = this.take(length);
    return this.buffer.subarray(from, from + length);
  }
}

/** A growing buffer for AMQP's primitive types. */
export class WireWriter {
  #buffer: Buffer;
  #at = 0;

  constructor(sizeHint = 256) {
    this.#buffer = Buffer.allocUnsafe(sizeHint);
  }

  get length(): number {
    return this.#at;
  }

  #room(count: number): number {
    const from = this.#at;
    if (from + count > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, from + count));
      this.#buffer.copy(larger, 0, 0, from);
      this.#buffer = larger;
    }
    this.#at = from + count;
    return from;
  }

  octet(value: number): void {
    const at = this.#room(1);
    this.#buffer[at] = value;
  }

  short(value: number): void {
    const at = this.#room(2);
    this.#buffer.writeUInt16BE(value, at);
  }

  long(value: number): void {
    const at = this.#room(4);
    this.#buffer.writeUInt32BE(value, at);
  }

  longLong(value: number): void {
    const at = this.#room(8);
    this.#buffer.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at);
    this.#buffer.writeUInt32BE(value % 0x1_0000_0000, at + 4);
  }

  signedLongLong(value: bigint): void {
    const at = this.#room(8);
    this.#buffer.writeBigInt64BE(BigInt.asIntN(64, value), at);
  }

  float(value: number): void {
    const at = this.#room(4);
    this.#buffer.writeFloatBE(value, at);
  }

  double(value: number): void {
    const at = this.#room(8);
    this.#buffer.writeDoubleBE(value, at);
  }

  bytes(value: Uint8Array): void {
    const at = this.#room(value.length);
    this.#buffer.set(value, at);
  }

  /** At most 255 bytes of UTF-8; the caller has checked. */
  shortString(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.length > 255) throw new RangeError('short string of more than 255 bytes');
    this.octet(bytes.length);
    this.bytes(bytes);
  }

  longString(value: Uint8Array): void {
    this.long(value.length);
    this.bytes(value);
  }

  /** Reserves a u32 length, runs `write`, and fills the length in. */
  sized(write: () => void): void {
    const at = this.#room(4);
    write();
    this.#buffer.writeUInt32BE(this.#at - at - 4, at);
  }

  /** What was written; the writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }
}
