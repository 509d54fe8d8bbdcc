import { EndOfBytes, WireReader, WireWriter } from './bytes.js';
import type { FieldTable } from './field-table.js';
import { readTable, writeTable } from './field-table.js';
import type { FieldType, Method, MethodArgs, MethodName } from './methods.js';
import { METHOD_ID_BYTES } from './frames.js';
import { methodNamed, shapeOf } from './methods.js';
import { ReplyError } from './reply.js';

/**
 * Reads the payload of a method frame, which holds both ids at least. 503 for unknown ids, 501 for arguments too short or with bytes behind them,
 * 502 for a malformed field table.
 */
export function decodeMethod(buffer: Buffer, start: number, end: number): Method {
  const classId = buffer.readUInt16BE(start);
  const methodId = buffer.readUInt16BE(start + 2);
  const name = methodNamed(classId, methodId);
  if (name === undefined)
    throw new ReplyError(503, 'unimplemented method', { culprit: { classId, methodId } });
  const reader = new WireReader(buffer, start + METHOD_ID_BYTES, end);
  const args = readWhole(reader, name);
  if (reader.left > 0) {
    throw new ReplyError(501, `cannot decode ${name}: bytes behind its arguments`, {
      culprit: { classId, methodId },
    });
  }
  // The table gives exactly the fields of `name`; TypeScript cannot follow a table walked at run time.
  return { name, args } as unknown as Method;
}

/** A frame that ends within its arguments is a fault of the frame, unlike a field table that is malformed. */
function readWhole(reader: WireReader, name: MethodName): Record<string, unknown> {
  try {
    return readArguments(reader, name);
  } catch (caught) {
    if (!(caught instanceof EndOfBytes) || caught.reader !== reader) throw caught;
    throw new ReplyError(501, `cannot decode ${name}: it ends within its arguments`, {
      culprit: shapeOf(name),
    });
  }
}

function readArguments(reader: WireReader, name: MethodName): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  let bits = 0;
  let bitsLeft = 0;
  for (const [field, type] of shapeOf(name).fields) {
    if (type === 'bit') {
      if (bitsLeft === 0) {
        bits = reader.octet();
        bitsLeft = 8;
      }
      args[field] = (bits & 1) === 1;
      bits >>= 1;
      bitsLeft--;
      continue;
    }
    bitsLeft = 0;
    args[field] = readField(reader, type);
  }
  return args;
}

function readField(reader: WireReader, type: Exclude<FieldType, 'bit'>): unknown {
  switch (type) {
    case 'octet':
      return reader.octet();
    case 'short':
      return reader.short();
    case 'long':
      return reader.long();
    case 'longlong':
      return reader.longLong();
    case 'shortstr':
      return reader.shortString();
    case 'longstr':
      return reader.longString();
    case 'table':
      return readTable(reader);
  }
}

/** Writes ids and arguments: the payload of a method frame. */
export function writeMethod<N extends MethodName>(writer: WireWriter, name: N, args: MethodArgs<N>): void {
  const shape = shapeOf(name);
  writer.short(shape.classId);
  writer.short(shape.methodId);
  const values = args as Readonly<Record<string, unknown>>;
  let bits = 0;
  let bitCount = 0;
  for (const [field, type] of shape.fields) {
    if (type === 'bit') {
      if (values[field] === true) bits |= 1 << bitCount;
      if (++bitCount < 8) continue;
    }
    if (bitCount > 0) writer.octet(bits);
    bits = 0;
    bitCount = 0;
    if (type !== 'bit') writeField(writer, type, values[field]);
  }
  if (bitCount > 0) writer.octet(bits);
}

function writeField(writer: WireWriter, type: Exclude<FieldType, 'bit'>, value: unknown): void {
  switch (type) {
    case 'octet':
      writer.octet(value as number);
      return;
    case 'short':
      writer.short(value as number);
      return;
    case 'long':
      writer.long(value as number);
      return;
    case 'longlong':
      writer.longLong(value as number);
      return;
    case 'shortstr':
      writer.shortString(value as string);
      return;
    case 'longstr':
      writer.longString(value as Uint8Array);
      return;
    case 'table':
      writeTable(writer, value as FieldTable);
      return;
  }
}

/** The payload of a method frame as bytes. */
export function encodeMethod<N extends MethodName>(name: N, args: MethodArgs<N>): Buffer {
  const writer = new WireWriter(64);
  writeMethod(writer, name, args);
  return writer.finish();
}
