import { isUtf8 } from 'node:buffer';

/** Bytes that are no protobuf message. gRPC answers INTERNAL to it. */
export class MalformedMessage extends Error {
  constructor(fault: string) {
    super(`malformed protobuf message: ${fault}`);
    this.name = 'MalformedMessage';
  }
}

export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
export const WIRE_LENGTH = 2;
export const WIRE_GROUP = 3;
export const WIRE_GROUP_END = 4;
export const WIRE_FIXED32 = 5;

/** Nested groups deeper than this are refused (protobuf's own default). */
const GROUP_DEPTH_MAX = 100;
const TAG_BYTES_MAX = 5;
const TWO_32 = 0x1_0000_0000;

/** `field << 3 | wire type`, as it stands in front of a field. */
export function tagOf(field: number, wireType: number): number {
  return (field << 3) | wireType;
}

/** Reads protobuf fields from a range of bytes. Throws MalformedMessage; never reads outside the range. */
export class ProtobufReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  at: number;

  constructor(bytes: Uint8Array, at = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  /** The next field's tag, or 0 at the end. */
  tag(): number {
    if (this.at === this.end) return 0;
    const from = this.at;
    const tag = this.uint32();
    // 32 bits in five bytes; cut, a longer one would be taken for another field.
    const bytes = this.at - from;
    if (bytes > TAG_BYTES_MAX || (bytes === TAG_BYTES_MAX && (this.bytes[this.at - 1] as number) > 0x0f)) {
      throw new MalformedMessage('a tag of more than 32 bits');
    }
    if (tag >>> 3 === 0) throw new MalformedMessage('field number 0');
    return tag;
  }

  /** A varint of up to ten bytes, cut to its low 32 bits. */
  uint32(): number {
    const { bytes, end } = this;
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= end) throw new MalformedMessage('cut varint');
      const byte = bytes[this.at++] as number;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new MalformedMessage('varint of more than ten bytes');
  }

  int32(): number {
    return this.uint32() | 0;
  }

  /** A signed 64 bit varint as a number; exact within 2^53. */
  int64(): number {
    const { bytes, end } = this;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= end) throw new MalformedMessage('cut varint');
      const byte = bytes[this.at++] as number;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 64) high |= bits << (shift - 32);
      if (byte < 0x80) return (high | 0) * TWO_32 + (low >>> 0);
    }
    throw new MalformedMessage('varint of more than ten bytes');
  }

  bool(): boolean {
    return this.int64() !== 0;
  }

  /** The length of a length-delimited field, checked against the range; `at` stands behind it. */
  length(): number {
    const length = this.int64();
    if (length < 0 || length > this.end - this.at) throw new MalformedMessage('length beyond the end');
    return length;
  }

  /** The bytes of a length-delimited field: a view, not a copy. */
  view(): Uint8Array {
    const length = this.length();
    const start = this.at;
    this.at += length;
    return this.bytes.subarray(start, this.at);
  }

  string(): string {
    const length = this.length();
    const start = this.at;
    this.at += length;
    return utf8(this.bytes, start, this.at);
  }

  /** Passes over the value of a field nobody knows. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case WIRE_VARINT:
        this.uint32();
        return;
      case WIRE_FIXED64:
        this.#advance(8);
        return;
      case WIRE_LENGTH:
        this.#advance(this.length());
        return;
      case WIRE_GROUP:
        this.#skipGroup(tag, depth);
        return;
      case WIRE_FIXED32:
        this.#advance(4);
        return;
      default:
        throw new MalformedMessage(`wire type ${tag & 7}`);
    }
  }

  #skipGroup(opening: number, depth: number): void {
    if (depth >= GROUP_DEPTH_MAX) throw new MalformedMessage('groups nested too deep');
    for (;;) {
      const tag = this.tag();
      if (tag === 0) throw new MalformedMessage('group without end');
      if ((tag & 7) === WIRE_GROUP_END) {
        if (tag >>> 3 !== opening >>> 3) throw new MalformedMessage('end of another group');
        return;
      }
      this.skip(tag, depth + 1);
    }
  }

  #advance(count: number): void {
    if (count > this.end - this.at) throw new MalformedMessage('cut field');
    this.at += count;
  }
}

/** Text of a range; refuses bytes that are no UTF-8, as proto3 says. */
export function utf8(bytes: Uint8Array, start: number, end: number): string {
  requireUtf8(bytes, start, end);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
}

export function requireUtf8(bytes: Uint8Array, start: number, end: number): void {
  for (let at = start; at < end; at++) {
    if ((bytes[at] as number) < 0x80) continue;
    if (!isUtf8(bytes.subarray(at, end))) throw new MalformedMessage('text that is no UTF-8');
    return;
  }
}

/** Bytes a non-negative whole number takes as a varint. */
export function varintLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  if (value < 0x1000_0000) return 4;
  let length = 5;
  for (let rest = Math.floor(value / 0x8_0000_0000); rest > 0; rest = Math.floor(rest / 128)) length++;
  return length;
}

/** Writes a non-negative whole number as a varint; returns the place behind it. */
export function writeVarint(out: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest >= 0x8000_0000) {
    out[at++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  while (rest >= 0x80) {
    out[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[at++] = rest;
  return at;
}

/** Writes ASCII text; returns the place behind it. Short texts only: a loop beats a call into the runtime. */
export function writeAscii(out: Uint8Array, start: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[start + i] = text.charCodeAt(i);
  return start + text.length;
}
