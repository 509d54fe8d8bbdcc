/** Largest unsigned integer the varint and 64-bit forms carry: all of JavaScript's safe integers. */
const TWO_32 = 0x1_0000_0000;

/** Writes little-endian values one after the other into a buffer that grows. */
export class ByteWriter {
  /** The bytes so far are `buffer[start..length)`; callers may read, not keep, it. */
  buffer: Buffer;
  length: number;

  constructor(capacity = 1024) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
    this.length = 0;
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }

  u8(value: number): void {
    this.reserve(1);
    this.buffer[this.length++] = value;
  }

  u16(value: number): void {
    this.reserve(2);
    this.buffer[this.length++] = value & 0xff;
    this.buffer[this.length++] = value >>> 8;
  }

  u32(value: number): void {
    this.reserve(4);
    const buffer = this.buffer;
    let at = this.length;
    buffer[at++] = value;
    buffer[at++] = value >>> 8;
    buffer[at++] = value >>> 16;
    buffer[at++] = value >>> 24;
    this.length = at;
  }

  /** A safe integer ≥ 0 in eight bytes. */
  u64(value: number): void {
    this.u32(value >>> 0);
    this.u32(Math.floor(value / TWO_32));
  }

  /** A safe integer ≥ 0 in one to eight bytes, seven bits each. */
  varint(value: number): void {
    this.reserve(10);
    const buffer = this.buffer;
    let at = this.length;
    let rest = value;
    while (rest >= TWO_32) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 128);
    }
    rest = rest >>> 0;
    while (rest > 0x7f) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[at++] = rest;
    this.length = at;
  }

  bytes(value: Uint8Array): void {
    this.reserve(value.length);
    this.buffer.set(value, this.length);
    this.length += value.length;
  }

  /** Length as varint, then the bytes. */
  block(value: Uint8Array): void {
    this.varint(value.length);
    this.bytes(value);
  }

  /** Byte length as varint, then UTF-8. */
  text(value: string): void {
    const chars = value.length;
    // Most texts are short ASCII; a plain loop beats the call into the native encoder there.
    if (chars < 48) {
      this.reserve(chars + 1);
      const buffer = this.buffer;
      const start = this.length + 1;
      let i = 0;
      for (; i < chars; i++) {
        const code = value.charCodeAt(i);
        if (code > 0x7f) break;
        buffer[start + i] = code;
      }
      if (i === chars) {
        buffer[this.length] = chars;
        this.length = start + chars;
        return;
      }
    }
    const size = Buffer.byteLength(value);
    this.varint(size);
    this.reserve(size);
    this.length += this.buffer.write(value, this.length, size, 'utf8');
  }
}

/** Reads what ByteWriter wrote. Throws RangeError past the end, so that damage never reads as data. */
export class ByteReader {
  readonly buffer: Uint8Array;
  at: number;
  readonly end: number;

  constructor(buffer: Uint8Array, at = 0, end = buffer.length) {
    this.buffer = buffer;
    this.at = at;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  #take(count: number): number {
    const at = this.at;
    const next = at + count;
    if (next > this.end) throw new RangeError('read past the end');
    this.at = next;
    return at;
  }

  u8(): number {
    return this.buffer[this.#take(1)] as number;
  }

  u16(): number {
    const at = this.#take(2);
    return (this.buffer[at] as number) | ((this.buffer[at + 1] as number) << 8);
  }

  u32(): number {
    const at = this.#take(4);
    const b = this.buffer;
    return (
      ((b[at] as number) |
        ((b[at + 1] as number) << 8) |
        ((b[at + 2] as number) << 16) |
        ((b[at + 3] as number) << 24)) >>>
      0
    );
  }

  u64(): number {
    const low = this.u32();
    return low + this.u32() * TWO_32;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new RangeError('varint too long');
  }

  /** A view of the next `count` bytes, not a copy. */
  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return this.buffer.subarray(at, at + count);
  }

  block(): Uint8Array {
    return this.bytes(this.varint());
  }

  text(): string {
    const size = this.varint();
    const at = this.#take(size);
    return utf8(this.buffer, at, at + size);
  }

  skip(count: number): void {
    this.#take(count);
  }

  skipBlock(): void {
    this.#take(this.varint());
  }
}

/** UTF-8 bytes of `bytes[start..end)` as a string. */
export function utf8(bytes: Uint8Array, start: number, end: number): string {
  if (Buffer.isBuffer(bytes)) return bytes.toString('utf8', start, end);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
}
