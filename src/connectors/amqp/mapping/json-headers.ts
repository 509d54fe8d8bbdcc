import { isUtf8 } from 'node:buffer';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { EMPTY_TABLE, stringField } from '../wire/field-table.js';

/** Key of the JSON envelope that headers travel in as metadata (seed: AMQP headers ⇄ KubeMQ metadata). */
const ENVELOPE_KEY = 'amqp_headers';

/** JSON nested deeper than this is no envelope of ours. */
const JSON_DEPTH_MAX = 32;

/** The metadata of headers: `{"amqp_headers":{…}}`, also for none. */
export function headersToMetadata(headers: FieldTable | undefined): string {
  return JSON.stringify({ [ENVELOPE_KEY]: tableToJson(headers ?? EMPTY_TABLE) });
}

/** The headers in an envelope, or undefined when `metadata` is something else. */
export function headersFromMetadata(metadata: string): FieldTable | undefined {
  if (!metadata.startsWith(`{"${ENVELOPE_KEY}":{`)) return undefined;
  try {
    const envelope = JSON.parse(metadata) as Record<string, unknown>;
    const headers = envelope[ENVELOPE_KEY];
    if (Object.keys(envelope).length !== 1 || !isObject(headers)) return undefined;
    return tableFromJson(headers, 0);
  } catch {
    // Text that only looks like our envelope: it is metadata like any other.
    return undefined;
  }
}

/** A table as JSON, see `fieldToJson`. */
export function tableToJson(table: FieldTable): unknown {
  const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, field] of table) out[key] = fieldToJson(field);
  return out;
}

/** A field as JSON: bytes that are no text as base64, integers beyond 2^53 as decimal text, timestamps in seconds. */
export function fieldToJson(field: FieldValue): unknown {
  switch (field.tag) {
    case 'S':
      return isUtf8(field.value)
        ? Buffer.from(field.value).toString('utf8')
        : Buffer.from(field.value).toString('base64');
    case 'x':
      return Buffer.from(field.value).toString('base64');
    case 'l':
    case 'L':
    case 'T':
      return safeInteger(field.value);
    case 'D':
      return field.value.unscaled / 10 ** field.value.scale;
    case 'F':
      return tableToJson(field.value);
    case 'A':
      return field.value.map(fieldToJson);
    default:
      return field.value;
  }
}

function safeInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** Throws RangeError for a name of more than 255 bytes, and for JSON nested too deeply. */
export function tableFromJson(value: Record<string, unknown>, depth = 0): FieldTable {
  const table = new Map<string, FieldValue>();
  for (const [key, item] of Object.entries(value)) {
    if (Buffer.byteLength(key) > 255) throw new RangeError('header name of more than 255 bytes');
    table.set(key, fieldFromJson(item, depth + 1));
  }
  return table;
}

function fieldFromJson(value: unknown, depth: number): FieldValue {
  if (depth > JSON_DEPTH_MAX) throw new RangeError('headers nested too deeply');
  if (typeof value === 'string') return stringField(value);
  if (typeof value === 'boolean') return { tag: 't', value };
  if (typeof value === 'number') return numberField(value);
  if (Array.isArray(value)) return { tag: 'A', value: value.map((item) => fieldFromJson(item, depth + 1)) };
  if (isObject(value)) return { tag: 'F', value: tableFromJson(value, depth) };
  return { tag: 'V', value: null };
}

function numberField(value: number): FieldValue {
  if (!Number.isSafeInteger(value)) return { tag: 'd', value };
  if (value >= -0x8000_0000 && value <= 0x7fff_ffff) return { tag: 'I', value };
  return { tag: 'l', value: BigInt(value) };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
