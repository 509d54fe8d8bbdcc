import { WireReader, WireWriter } from './bytes.js';
import { ReplyError } from './reply.js';

/**
 * A value of a field table with its wire type tag (RabbitMQ's errata types), so that it is written back as it came:
 * clients tell a double 1 from an integer 1. Strings stay bytes, because headers may hold any.
 */
export type FieldValue =
  | { readonly tag: 't'; readonly value: boolean }
  | { readonly tag: 'b' | 'B' | 's' | 'u' | 'I' | 'i' | 'f' | 'd'; readonly value: number }
  | { readonly tag: 'l' | 'L' | 'T'; readonly value: bigint }
  | { readonly tag: 'D'; readonly value: { readonly scale: number; readonly unscaled: number } }
  | { readonly tag: 'S' | 'x'; readonly value: Uint8Array }
  | { readonly tag: 'F'; readonly value: FieldTable }
  | { readonly tag: 'A'; readonly value: readonly FieldValue[] }
  | { readonly tag: 'V'; readonly value: null };

/** A field table. Of keys that appear twice, the last one counts. */
export type FieldTable = ReadonlyMap<string, FieldValue>;

export const EMPTY_TABLE: FieldTable = new Map<string, FieldValue>();

/** Tables and arrays inside each other; deeper ones are refused before they can exhaust the stack. */
export const TABLE_DEPTH_MAX = 32;

/** Reads a table with its u32 length. */
export function readTable(reader: WireReader, depth = 0): FieldTable {
  const length = reader.long();
  const start = reader.take(length);
  if (length === 0) return EMPTY_TABLE;
  return readEntries(new WireReader(reader.buffer, start, start + length), depth);
}

/** Reads entries up to the reader's end: a table without its length, as SASL AMQPLAIN sends it. */
export function readEntries(entries: WireReader, depth = 0): FieldTable {
  if (depth >= TABLE_DEPTH_MAX) throw new ReplyError(502, 'field table nested too deeply');
  const table = new Map<string, FieldValue>();
  while (entries.left > 0) {
    const key = entries.shortString();
    table.set(key, readValue(entries, depth));
  }
  return table;
}

function readValue(reader: WireReader, depth: number): FieldValue {
  const tag = String.fromCharCode(reader.octet());
  switch (tag) {
    case 't':
      return { tag, value: reader.octet() !== 0 };
    case 'b':
      return { tag, value: reader.buffer.readInt8(reader.take(1)) };
    case 'B':
      return { tag, value: reader.octet() };
    case 's':
      return { tag, value: reader.buffer.readInt16BE(reader.take(2)) };
    case 'u':
      return { tag, value: reader.short() };
    case 'I':
      return { tag, value: reader.buffer.readInt32BE(reader.take(4)) };
    case 'i':
      return { tag, value: reader.long() };
    case 'f':
      return { tag, value: reader.buffer.readFloatBE(reader.take(4)) };
    case 'd':
      return { tag, value: reader.buffer.readDoubleBE(reader.take(8)) };
    case 'l':
    case 'L':
      return { tag, value: reader.buffer.readBigInt64BE(reader.take(8)) };
    case 'T':
      return { tag, value: reader.buffer.readBigUInt64BE(reader.take(8)) };
    case 'D': {
      const scale = reader.octet();
      return { tag, value: { scale, unscaled: reader.buffer.readInt32BE(reader.take(4)) } };
    }
    case 'S':
    case 'x':
      return { tag, value: reader.longString() };
    case 'F':
      return { tag, value: readTable(reader, depth + 1) };
    case 'A':
      return { tag, value: readArray(reader, depth + 1) };
    case 'V':
      return { tag, value: null };
    default:
      throw new ReplyError(502, `unknown field type ${String(tag.charCodeAt(0))}`);
  }
}

function readArray(reader: WireReader, depth: number): readonly FieldValue[] {
  if (depth >= TABLE_DEPTH_MAX) throw new ReplyError(502, 'field array nested too deeply');
  const length = reader.long();
  const start = reader.take(length);
  const items = new WireReader(reader.buffer, start, start + length);
  const values: FieldValue[] = [];
  while (items.left > 0) values.push(readValue(items, depth));
  return values;
}

/** Moves past one value without decoding it: for looking at the keys of a table only. */
export function skipValue(reader: WireReader): void {
  switch (String.fromCharCode(reader.octet())) {
    case 't':
    case 'b':
    case 'B':
      reader.take(1);
      return;
    case 's':
    case 'u':
      reader.take(2);
      return;
    case 'I':
    case 'i':
    case 'f':
      reader.take(4);
      return;
    case 'd':
    case 'l':
    case 'L':
    case 'T':
      reader.take(8);
      return;
    case 'D':
      reader.take(5);
      return;
    case 'S':
    case 'x':
    case 'F':
    case 'A':
      reader.take(reader.long());
      return;
    case 'V':
      return;
    default:
      throw new ReplyError(502, 'unknown field type');
  }
}

/** Writes a table with its u32 length. */
export function writeTable(writer: WireWriter, table: FieldTable): void {
  writer.sized(() => {
    for (const [key, field] of table) {
      writer.shortString(key);
      writeValue(writer, field);
    }
  });
}

function writeValue(writer: WireWriter, field: FieldValue): void {
  writer.octet(field.tag.charCodeAt(0));
  switch (field.tag) {
    case 't':
      writer.octet(field.value ? 1 : 0);
      return;
    case 'b':
    case 'B':
      writer.octet(field.value & 0xff);
      return;
    case 's':
    case 'u':
      writer.short(field.value & 0xffff);
      return;
    case 'I':
    case 'i':
      writer.long(field.value >>> 0);
      return;
    case 'f':
      writer.float(field.value);
      return;
    case 'd':
      writer.double(field.value);
      return;
    case 'l':
    case 'L':
    case 'T':
      writer.signedLongLong(field.value);
      return;
    case 'D':
      writer.octet(field.value.scale);
      writer.long(field.value.unscaled >>> 0);
      return;
    case 'S':
    case 'x':
      writer.longString(field.value);
      return;
    case 'F':
      writeTable(writer, field.value);
      return;
    case 'A':
      writer.sized(() => {
        for (const item of field.value) writeValue(writer, item);
      });
      return;
    case 'V':
      return;
  }
}

/** A table as bytes, its length included. */
export function encodeTable(table: FieldTable): Buffer {
  const writer = new WireWriter();
  writeTable(writer, table);
  return writer.finish();
}

/** The table in `bytes`, its length included. */
export function decodeTable(bytes: Uint8Array): FieldTable {
  return readTable(new WireReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)));
}

/** A long string value of `text`. */
export function stringField(text: string): FieldValue {
  return { tag: 'S', value: Buffer.from(text, 'utf8') };
}
