import type { MessagePolicy } from '../../../core/message.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import type { Properties } from '../wire/properties.js';
import { decodeProperties, encodeProperties } from '../wire/properties.js';
import { scanProperties } from '../wire/property-scan.js';
import { ReplyError } from '../wire/reply.js';

/** What the broker takes from the properties of a publish; the rest travels as bytes. */
export interface PublishProperties {
  /** The property list to store: as sent, but for headers that the broker consumes. */
  readonly bytes: Buffer;
  readonly policy: MessagePolicy | undefined;
  readonly priority: number | undefined;
  readonly transient: boolean;
  readonly userId: string | undefined;
  readonly replyTo: string | undefined;
  /** Routing keys of the CC and BCC headers. */
  readonly extraKeys: readonly string[];
  /** Those of the BCC header alone. */
  readonly bccKeys: readonly string[];
}

/** Ten years: the largest expiration RabbitMQ takes, and our bound for delays. */
const DURATION_MS_MAX = 315_360_000_000;

const NO_KEYS: readonly string[] = [];

/** Reads the properties of a publish. 406 with RabbitMQ's texts for values it refuses, 502 when malformed. */
export function readPublishProperties(bytes: Buffer): PublishProperties {
  const scan = scanProperties(bytes, 0, bytes.length);
  if (scan.deliveryMode !== 1 && scan.deliveryMode !== 2) {
    throw new ReplyError(406, `invalid message: {delivery_mode_unknown,${scan.deliveryMode}}`);
  }
  const expirationMs = scan.expiration === undefined ? undefined : parseExpiration(scan.expiration);
  const special = scan.specialHeaders ? readSpecialHeaders(bytes) : undefined;
  return {
    bytes: special?.bytes ?? bytes,
    policy: policyOf(expirationMs, special?.delayMs),
    priority: scan.priority,
    transient: scan.deliveryMode === 1,
    userId: scan.userId,
    replyTo: scan.replyTo,
    extraKeys: special?.extraKeys ?? NO_KEYS,
    bccKeys: special?.bccKeys ?? NO_KEYS,
  };
}

function policyOf(expirationMs: number | undefined, delayMs: number | undefined): MessagePolicy | undefined {
  if (expirationMs === undefined && delayMs === undefined) return undefined;
  return {
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(expirationMs === undefined ? {} : { expirationMs }),
  };
}

/** Milliseconds of an `expiration` property. */
function parseExpiration(text: string): number {
  const invalid = (why: string): ReplyError => new ReplyError(406, `invalid expiration '${text}': ${why}`);
  const match = /^([+-]?\d+)(.*)$/s.exec(text);
  if (match === null) throw invalid('no_integer');
  const [, digits = '', rest = ''] = match;
  if (rest !== '') throw invalid(`{leftover_string,"${rest}"}`);
  const value = Number(digits);
  if (value < 0) throw invalid(`{value_negative,${digits}}`);
  if (value > DURATION_MS_MAX) throw invalid(`{value_too_large,${digits}}`);
  return value;
}

interface SpecialHeaders {
  readonly bytes: Buffer;
  readonly delayMs: number | undefined;
  readonly extraKeys: readonly string[];
  readonly bccKeys: readonly string[];
}

/** `x-delay` delays and is taken out; CC and BCC add keys, BCC is taken out. */
function readSpecialHeaders(bytes: Buffer): SpecialHeaders {
  const properties = decodeProperties(bytes);
  const headers = new Map(properties.headers);
  const delayMs = delayOf(headers.get('x-delay'));
  const bccKeys = keysOf(headers, 'BCC');
  const extraKeys = [...keysOf(headers, 'CC'), ...bccKeys];
  headers.delete('BCC');
  if (delayMs !== undefined) headers.delete('x-delay');
  const kept: Properties = { ...properties, headers };
  return { bytes: encodeProperties(kept), delayMs, extraKeys, bccKeys };
}

function delayOf(field: FieldValue | undefined): number | undefined {
  const value = numberOf(field);
  if (value === undefined || !Number.isFinite(value)) return undefined;
  return Math.min(Math.max(Math.trunc(value), 0), DURATION_MS_MAX);
}

/** The number in a field; text of digits counts, because some clients send headers as text only. */
export function numberOf(field: FieldValue | undefined): number | undefined {
  if (field === undefined) return undefined;
  if (typeof field.value === 'number') return field.value;
  if (typeof field.value === 'bigint') return Number(field.value);
  if (field.tag !== 'S') return undefined;
  const text = Buffer.from(field.value).toString('latin1');
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function keysOf(headers: FieldTable, name: 'CC' | 'BCC'): readonly string[] {
  const field = headers.get(name);
  if (field === undefined) return NO_KEYS;
  if (field.tag !== 'A') {
    throw new ReplyError(
      406,
      `invalid message: {unacceptable_type_in_header,"${name}",${erlangType(field)}}`,
    );
  }
  return field.value.map((item) => {
    if (item.tag === 'S') return keyOf(item.value);
    throw new ReplyError(406, `invalid message: {unacceptable_type_in_header,"${name}",${erlangType(item)}}`);
  });
}

/** A routing key; longer than any key can be, it leads nowhere. */
function keyOf(bytes: Uint8Array): string {
  if (bytes.length > 255) throw new ReplyError(406, 'a key in CC or BCC is at most 255 bytes');
  return Buffer.from(bytes).toString('utf8');
}

const ERLANG_TYPES: Readonly<Record<FieldValue['tag'], string>> = {
  t: 'bool',
  b: 'byte',
  B: 'unsignedbyte',
  s: 'short',
  u: 'unsignedshort',
  I: 'signedint',
  i: 'unsignedint',
  l: 'long',
  L: 'long',
  f: 'float',
  d: 'double',
  D: 'decimal',
  S: 'longstr',
  x: 'binary',
  T: 'timestamp',
  F: 'table',
  A: 'array',
  V: 'void',
};

/** RabbitMQ's own word for a field's type, as its error texts use it. */
export function erlangType(field: FieldValue): string {
  return ERLANG_TYPES[field.tag];
}
