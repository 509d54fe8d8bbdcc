import { md5Hex } from './md5.js';

/** One typed attribute of a message. Text is UTF-8; binary values are their bytes. */
export interface MessageAttribute {
  readonly name: string;
  /** `String`, `Number` or `Binary`, perhaps with a custom part behind a dot (`Number.int`). */
  readonly dataType: string;
  readonly value: string | Uint8Array;
}

const TEXT = 1;
const BINARY = 2;

/**
 * The attributes in AWS's canonical form, the one their MD5 is taken over: by name, for each u32 length + name,
 * u32 length + type, one byte (1 text, 2 binary), u32 length + value, big-endian. Stored as it is with each message.
 */
export function encodeAttributes(attributes: readonly MessageAttribute[]): Buffer {
  const sorted =
    attributes.length > 1 ? [...attributes].sort((a, b) => (a.name < b.name ? -1 : 1)) : attributes;
  let size = 0;
  for (const attribute of sorted) size += attributeSize(attribute) + 13;
  const out = Buffer.allocUnsafe(size);
  let at = 0;
  for (const { name, dataType, value } of sorted) {
    at = writeText(out, at, name);
    at = writeText(out, at, dataType);
    if (typeof value === 'string') {
      out[at++] = TEXT;
      at = writeText(out, at, value);
    } else {
      out[at++] = BINARY;
      out.writeUInt32BE(value.length, at);
      out.set(value, at + 4);
      at += 4 + value.length;
    }
  }
  return out;
}

/** Bytes an attribute counts against the size of its message: name, type and value. */
export function attributeSize({ name, dataType, value }: MessageAttribute): number {
  return (
    Buffer.byteLength(name) +
    Buffer.byteLength(dataType) +
    (typeof value === 'string' ? Buffer.byteLength(value) : value.length)
  );
}

function writeText(out: Buffer, at: number, text: string): number {
  const size = out.write(text, at + 4, 'utf8');
  out.writeUInt32BE(size, at);
  return at + 4 + size;
}

/** Reads `encodeAttributes` back. Binary values are views. Throws RangeError when the bytes are cut. */
export function decodeAttributes(bytes: Buffer): MessageAttribute[] {
  const out: MessageAttribute[] = [];
  let at = 0;
  const block = (): Buffer => {
    const size = bytes.readUInt32BE(at);
    const start = at + 4;
    if (start + size > bytes.length) throw new RangeError('attribute cut short');
    at = start + size;
    return bytes.subarray(start, at);
  };
  while (at < bytes.length) {
    const name = block().toString('utf8');
    const dataType = block().toString('utf8');
    const kind = bytes.readUInt8(at++);
    const value = block();
    out.push({ name, dataType, value: kind === BINARY ? value : value.toString('utf8') });
  }
  return out;
}

/** MD5 of attributes as AWS computes it. Not for an empty list: AWS omits the field then. */
export function attributesMd5(attributes: readonly MessageAttribute[]): string {
  return md5Hex(encodeAttributes(attributes));
}
