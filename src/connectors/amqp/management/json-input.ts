import { isObject, tableFromJson } from '../mapping/json-headers.js';
import type { FieldTable } from '../wire/field-table.js';
import { EMPTY_TABLE } from '../wire/field-table.js';
import type { Properties } from '../wire/properties.js';
import { badRequest } from './http-error.js';

/** The body of a request, as an object; no body is an empty one. 400 when it is not JSON or something else. */
export function parseInput(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw badRequest('the body is not JSON');
  }
  if (!isObject(value)) throw badRequest('the body is not a JSON object');
  return value;
}

/** Fields of a JSON object, checked; 400 names the one that is missing or of another type. */
export class Input {
  readonly values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.values = values;
  }

  text(name: string, fallback?: string): string {
    const value = this.values[name] ?? fallback;
    if (typeof value === 'string') return value;
    throw badRequest(value === undefined ? `key_missing: ${name}` : `${name} is not a text`);
  }

  /** RabbitMQ's tools also write booleans as texts. */
  flag(name: string, fallback: boolean): boolean {
    const value = this.values[name] ?? fallback;
    if (typeof value === 'boolean') return value;
    if (value === 'true' || value === 'false') return value === 'true';
    throw badRequest(`${name} is not a boolean`);
  }

  number(name: string, fallback: number): number {
    const value = this.values[name] ?? fallback;
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
    throw badRequest(`${name} is not a whole number`);
  }

  object(name: string): Input {
    const value = this.values[name];
    if (!isObject(value)) throw badRequest(`${name} is not an object`);
    return new Input(value);
  }

  table(name: string): FieldTable {
    const value = this.values[name];
    if (value === undefined || value === null) return EMPTY_TABLE;
    // An empty table of some languages is an empty list in JSON.
    if (Array.isArray(value) && value.length === 0) return EMPTY_TABLE;
    if (!isObject(value)) throw badRequest(`${name} is not an object`);
    return tableFromJson(value);
  }

  /** A list of objects; absent is empty. */
  list(name: string): readonly Input[] {
    const value = this.values[name] ?? [];
    if (!Array.isArray(value) || !value.every(isObject)) throw badRequest(`${name} is not a list of objects`);
    return value.map((item) => new Input(item));
  }
}

const TEXTS: readonly (readonly [string, keyof Properties])[] = [
  ['content_type', 'contentType'],
  ['content_encoding', 'contentEncoding'],
  ['correlation_id', 'correlationId'],
  ['reply_to', 'replyTo'],
  ['expiration', 'expiration'],
  ['message_id', 'messageId'],
  ['type', 'type'],
  ['user_id', 'userId'],
  ['app_id', 'appId'],
  ['cluster_id', 'clusterId'],
];

/** Message properties by the API's names. */
export function propertiesOf(input: Input): Properties {
  const out: Partial<Record<keyof Properties, unknown>> = {};
  for (const [name, property] of TEXTS) {
    if (input.values[name] === undefined) continue;
    const value = input.values[name];
    const text = typeof value === 'number' ? String(value) : input.text(name);
    if (Buffer.byteLength(text) > 255) throw badRequest(`${name} is longer than 255 bytes`);
    out[property] = text;
  }
  if (input.values['headers'] !== undefined) out.headers = input.table('headers');
  for (const [name, property] of [
    ['delivery_mode', 'deliveryMode'],
    ['priority', 'priority'],
  ] as const) {
    if (input.values[name] === undefined) continue;
    const value = input.number(name, 0);
    if (value > 255) throw badRequest(`${name} is more than 255`);
    out[property] = value;
  }
  if (input.values['timestamp'] !== undefined) out.timestamp = BigInt(input.number('timestamp', 0));
  return out as Properties;
}

/** Message properties as the API shows them. */
export function propertiesToJson(properties: Properties, headers: unknown): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, property] of TEXTS) {
    if (properties[property] !== undefined) out[name] = properties[property];
  }
  if (properties.headers !== undefined) out['headers'] = headers;
  if (properties.deliveryMode !== undefined) out['delivery_mode'] = properties.deliveryMode;
  if (properties.priority !== undefined) out['priority'] = properties.priority;
  if (properties.timestamp !== undefined) out['timestamp'] = Number(properties.timestamp);
  return out;
}
