import { varintSize } from './varint.js';

/** Room that encoders share, and the most of it that is kept from one message to the next. */
const ROOM_BYTES = 64 * 1024;
const ROOM_KEPT_BYTES_MAX = 2 * 1024 * 1024;
/** Texts up to this are mostly ASCII, and a loop beats the call into the runtime there. */
const SHORT_TEXT_MAX = 64;

/**
 * Where an encoder writes: from the end of a message to its beginning, so that the length of a part is known when it is
 * written and nothing has to be measured before. `at` is where the message begins so far.
 */
export class Sink {
  bytes: Buffer = Buffer.allocUnsafeSlow(ROOM_BYTES);
  at = ROOM_BYTES;

  /** Begins a message; what the last `view` gave is written over. */
  begin(): void {
    this.at = this.bytes.length;
  }

  /** The message, good until the next one begins. */
  view(): Buffer {
    const { bytes } = this;
    const message = bytes.subarray(this.at);
    if (bytes.length > ROOM_KEPT_BYTES_MAX) this.bytes = Buffer.allocUnsafeSlow(ROOM_BYTES);
    return message;
  }

  /** Bytes from here to the end: the length of a part is the difference of two of these. */
  get length(): number {
    return this.bytes.length - this.at;
  }

  /** A number whose varint has at most five bytes. */
  small(value: number): void {
    if (this.at < 5) this.#grow(5);
    const { bytes } = this;
    if (value < 0x80) {
      bytes[--this.at] = value;
    } else if (value < 0x4000) {
      bytes[--this.at] = value >>> 7;
      bytes[--this.at] = (value & 0x7f) | 0x80;
    } else this.varint(value >>> 0, 0);
  }

  varint(low: number, high: number): void {
    const size = varintSize(low, high);
    if (this.at < size) this.#grow(size);
    const { bytes } = this;
    let at = this.at - size;
    this.at = at;
    while (high !== 0 || low >= 0x80) {
      bytes[at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    bytes[at] = low;
  }

  /** A text with its length. */
  text(value: string): void {
    const chars = value.length;
    if (chars <= SHORT_TEXT_MAX) {
      if (this.at < chars) this.#grow(chars);
      const { bytes } = this;
      let at = this.at;
      let left = chars;
      for (; left > 0; left--) {
        const code = value.charCodeAt(left - 1);
        if (code > 0x7f) break;
        bytes[--at] = code;
      }
      if (left === 0) {
        this.at = at;
        this.small(chars);
        return;
      }
    }
    const size = Buffer.byteLength(value);
    if (this.at < size) this.#grow(size);
    this.at -= size;
    // As many bytes as characters: all of them ASCII.
    this.bytes.write(value, this.at, size, size === chars ? 'latin1' : 'utf8');
    this.small(size);
  }

  /** A few bytes, as they are: a loop beats the call into the runtime there. */
  copy(from: Uint8Array, start: number, size: number): void {
    if (this.at < size) this.#grow(size);
    this.at -= size;
    const { bytes, at } = this;
    for (let i = 0; i < size; i++) bytes[at + i] = from[start + i] as number;
  }

  /** Room for so many bytes, which the caller fills at once, from `at` on. */
  room(size: number): void {
    if (this.at < size) this.#grow(size);
    this.at -= size;
  }

  /** Bytes with their length. */
  block(value: Uint8Array): void {
    const size = value.byteLength;
    if (this.at < size) this.#grow(size);
    this.at -= size;
    this.bytes.set(value, this.at);
    this.small(size);
  }

  #grow(needed: number): void {
    const { bytes, length } = this;
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes.length * 2, length + needed + ROOM_BYTES));
    bytes.copy(grown, grown.length - length, this.at);
    this.bytes = grown;
    this.at = grown.length - length;
  }
}
