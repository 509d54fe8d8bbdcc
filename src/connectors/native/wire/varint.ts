/** Thrown for bytes that are no protobuf message. */
export class WireError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WireError';
  }
}

const TWO_32 = 0x1_0000_0000;

/** Bytes of the varint of the 64-bit number `high · 2³² + low` (both unsigned). */
export function varintSize(low: number, high: number): number {
  if (high === 0) {
    if (low < 0x80) return 1;
    if (low < 0x4000) return 2;
    if (low < 0x20_0000) return 3;
    return low < 0x1000_0000 ? 4 : 5;
  }
  if (high < 0x8) return 5;
  if (high < 0x400) return 6;
  if (high < 0x2_0000) return 7;
  if (high < 0x100_0000) return 8;
  return high < 0x8000_0000 ? 9 : 10;
}

/** Lower and upper half of a whole number within ±2⁵³, as two's complement. */
export const lowOf = (value: number): number => value >>> 0;
export const highOf = (value: number): number => Math.floor(value / TWO_32) >>> 0;

/** The same for a 64-bit integer. */
export const lowOfBig = (value: bigint): number => Number(value & 0xffff_ffffn);
export const highOfBig = (value: bigint): number => Number((value >> 32n) & 0xffff_ffffn);

/** Where a decoder stands. */
export class Source {
  readonly bytes: Buffer;
  at = 0;
  /** Halves of the varint read last. */
  low = 0;
  high = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Reads a varint into `low` and `high`. */
  varint(end: number): void {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= end) throw new WireError('message ends within a number');
      const byte = this.bytes[this.at++] ?? 0;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw new WireError('number longer than 10 bytes');
  }

  /** The varint read last, as a signed 64-bit integer. */
  get big(): bigint {
    return BigInt.asIntN(64, (BigInt(this.high) << 32n) | BigInt(this.low));
  }

  /** The same as a number: exact within ±2⁵³, rounded beyond. */
  get number(): number {
    return (this.high | 0) * TWO_32 + this.low;
  }

  /** Reads a length and checks that so much is there. Returns where that part ends. */
  part(end: number): number {
    this.varint(end);
    if (this.high !== 0 || this.low > end - this.at) throw new WireError('message ends within a field');
    return this.at + this.low;
  }

  /** Steps over a field that nobody knows. */
  skip(tag: number, end: number): void {
    switch (tag & 7) {
      case 0:
        this.varint(end);
        return;
      case 1:
        this.#step(8, end);
        return;
      case 2:
        this.at = this.part(end);
        return;
      case 5:
        this.#step(4, end);
        return;
      default:
        // Groups (3, 4) left protobuf before this contract was written.
        throw new WireError('unknown kind of field');
    }
  }

  #step(count: number, end: number): void {
    if (count > end - this.at) throw new WireError('message ends within a field');
    this.at += count;
  }
}
