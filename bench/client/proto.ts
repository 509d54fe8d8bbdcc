/** As much of the protocol buffers wire format as the generators need. */

const VARINT = 0;
const LENGTH = 2;

/** Builds one message field by field. */
export class ProtoWriter {
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;

  varint(field: number, value: number): this {
    return this.#add(varintBytes(field * 8 + VARINT)).#add(varintBytes(value));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#add(varintBytes(field * 8 + LENGTH))
      .#add(varintBytes(value.length))
      .#add(value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  /** Offset of the next byte: where a field's value written next will stand, less its head. */
  get length(): number {
    return this.#bytes;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts, this.#bytes);
  }

  #add(part: Uint8Array): this {
    this.#parts.push(part);
    this.#bytes += part.length;
    return this;
  }
}

export function varintBytes(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** Reads one message: call `next` until it is false, then `field` and one of the values. */
export class ProtoReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;
  field = 0;
  #type = 0;
  /** Value of a varint field, start of the value of a length field. */
  value = 0;
  /** Bytes of a length field's value. */
  size = 0;

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  next(): boolean {
    if (this.#at >= this.#end) return false;
    const key = this.#varint();
    this.field = Math.floor(key / 8);
    this.#type = key % 8;
    switch (this.#type) {
      case VARINT:
        this.value = this.#varint();
        break;
      case 1:
        this.#at += 8;
        break;
      case LENGTH:
        this.size = this.#varint();
        this.value = this.#at;
        this.#at += this.size;
        break;
      case 5:
        this.#at += 4;
        break;
      default:
        throw new Error(`protocol buffer field of type ${String(this.#type)}`);
    }
    return true;
  }

  /** The value of a length field. */
  slice(): Uint8Array {
    return this.#bytes.subarray(this.value, this.value + this.size);
  }

  text(): string {
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + this.value, this.size).toString('utf8');
  }

  /** A reader of the message in a length field. */
  message(): ProtoReader {
    return new ProtoReader(this.#bytes, this.value, this.value + this.size);
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }
}
