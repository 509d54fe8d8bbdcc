import { WireReader, WireWriter } from './bytes.js';
import type { FieldTable } from './field-table.js';
import { readTable, writeTable } from './field-table.js';
import { ReplyError } from './reply.js';

/** Basic properties; absent ones are undefined. An empty headers table and no table are different things. */
export interface Properties {
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
  readonly headers?: FieldTable | undefined;
  readonly deliveryMode?: number | undefined;
  readonly priority?: number | undefined;
  readonly correlationId?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly expiration?: string | undefined;
  readonly messageId?: string | undefined;
  /** Seconds as the sender wrote them: any 64 bits pass. */
  readonly timestamp?: bigint | undefined;
  readonly type?: string | undefined;
  readonly userId?: string | undefined;
  readonly appId?: string | undefined;
  readonly clusterId?: string | undefined;
}

type PropertyName = keyof Properties;
type PropertyType = 'shortstr' | 'table' | 'octet' | 'timestamp';

/** Properties in flag order, from bit 15 down (AMQP 0-9-1 §4.2.6.1, class basic). */
export const PROPERTY_ORDER: readonly (readonly [PropertyName, PropertyType])[] = [
  ['contentType', 'shortstr'],
  ['contentEncoding', 'shortstr'],
  ['headers', 'table'],
  ['deliveryMode', 'octet'],
  ['priority', 'octet'],
  ['correlationId', 'shortstr'],
  ['replyTo', 'shortstr'],
  ['expiration', 'shortstr'],
  ['messageId', 'shortstr'],
  ['timestamp', 'timestamp'],
  ['type', 'shortstr'],
  ['userId', 'shortstr'],
  ['appId', 'shortstr'],
  ['clusterId', 'shortstr'],
];

/** Bits that no property owns: continuation (bit 0) and the unused one. */
const UNDEFINED_FLAGS = 0b11;

/** Flags of a message without any property: the two bytes that a property list begins with. */
export const NO_PROPERTIES: Buffer = Buffer.from([0, 0]);

/** Reads flags and the property list behind them. 502 when malformed. */
export function decodeProperties(bytes: Uint8Array): Properties {
  const reader = new WireReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  const flags = readFlags(reader);
  const properties: Partial<Record<PropertyName, unknown>> = {};
  for (let i = 0; i < PROPERTY_ORDER.length; i++) {
    if ((flags & (0x8000 >> i)) === 0) continue;
    const [name, type] = PROPERTY_ORDER[i] as (typeof PROPERTY_ORDER)[number];
    properties[name] = readProperty(reader, type);
  }
  if (reader.left > 0) throw new ReplyError(502, 'bytes behind the property list');
  return properties as Properties;
}

/** The flags of a property list; 502 for flags no property owns. */
export function readFlags(reader: WireReader): number {
  const flags = reader.short();
  if ((flags & UNDEFINED_FLAGS) !== 0) throw new ReplyError(502, 'undefined property flags');
  return flags;
}

function readProperty(reader: WireReader, type: PropertyType): unknown {
  switch (type) {
    case 'shortstr':
      return reader.shortString();
    case 'table':
      return readTable(reader);
    case 'octet':
      return reader.octet();
    case 'timestamp':
      return reader.buffer.readBigUInt64BE(reader.take(8));
  }
}

/** Flags and property list as bytes. Short strings are at most 255 bytes; the caller has checked. */
export function encodeProperties(properties: Properties): Buffer {
  const writer = new WireWriter(128);
  let flags = 0;
  for (let i = 0; i < PROPERTY_ORDER.length; i++) {
    const [name] = PROPERTY_ORDER[i] as (typeof PROPERTY_ORDER)[number];
    if (properties[name] !== undefined) flags |= 0x8000 >> i;
  }
  writer.short(flags);
  for (const [name, type] of PROPERTY_ORDER) {
    const value = properties[name];
    if (value !== undefined) writeProperty(writer, type, value);
  }
  return writer.finish();
}

function writeProperty(writer: WireWriter, type: PropertyType, value: unknown): void {
  switch (type) {
    case 'shortstr':
      writer.shortString(value as string);
      return;
    case 'table':
      writeTable(writer, value as FieldTable);
      return;
    case 'octet':
      writer.octet(value as number);
      return;
    case 'timestamp':
      writer.signedLongLong(value as bigint);
      return;
  }
}
