import { protoFiles } from './descriptor.js';
import { DEFAULTS, type Kind, type Slot, type Values } from './field-slot.js';
import { fromBase64 } from './base64.js';
import { parseJson, type JsonValue } from './json-text.js';
import { MessageType, type Decoded, type Encodable, type Fields } from './protobuf.js';

/**
 * The contract's JSON: fields under their names in the .proto file, in any case on the way in; bytes in base64; 64-bit
 * integers as plain numbers, exact, or as text on the way in; enums as numbers. What is empty is left out, as is what is
 * unknown on the way in.
 */

/** Text that is no such message. */
export class JsonError extends Error {}

interface JsonField {
  readonly slot: Slot;
  readonly name: string;
  readonly type: JsonType<Fields> | undefined;
}

const files = protoFiles();
const types = new Map<string, JsonType<Fields>>();

/** The JSON form of a message type; `name` is the full one in the contract. `aliases`: other names of fields, in lower case. */
export function jsonType<F extends Fields>(
  type: MessageType<F>,
  name: string,
  aliases: Readonly<Record<string, string>> = {},
): JsonType<F> {
  const known = types.get(name);
  if (known !== undefined) return known as unknown as JsonType<F>;
  const made = new JsonType(type, name, aliases);
  types.set(name, made);
  return made;
}

/** All that were asked for, and those inside them. */
export function jsonTypes(): readonly JsonType<Fields>[] {
  return [...types.values()];
}

export class JsonType<F extends Fields> {
  readonly name: string;
  readonly #type: MessageType<F>;
  readonly #fields: readonly JsonField[];
  readonly #byName = new Map<string, JsonField>();

  constructor(type: MessageType<F>, name: string, aliases: Readonly<Record<string, string>>) {
    this.name = name;
    this.#type = type;
    const described = files.flatMap(({ fields }) => fields.get(name) ?? []);
    this.#fields = type.slots.map((slot) => {
      const field = described.find(({ number }) => number === slot.tag >>> 3);
      if (field === undefined) throw new Error(`${name} has no field for ${slot.name}`);
      const nested = slot.type instanceof MessageType ? slot.type : undefined;
      const inner = nested === undefined ? undefined : jsonType(nested, field.typeName.slice(1));
      return { slot, name: field.name, type: inner };
    });
    for (const field of this.#fields) this.#byName.set(field.name.toLowerCase(), field);
    for (const [alias, real] of Object.entries(aliases)) {
      const field = this.#byName.get(real.toLowerCase());
      if (field !== undefined) this.#byName.set(alias, field);
    }
  }

  /** Names and kinds of the fields, for the API's description. */
  get fields(): readonly { readonly name: string; readonly kind: Kind; readonly type: string | undefined }[] {
    return this.#fields.map(({ slot, name, type }) => ({ name, kind: slot.kind, type: type?.name }));
  }

  /** Throws JsonError for text that is no such message. Empty text is an empty one. */
  decode(text: string): Decoded<F> {
    if (text.trim() === '') return this.read({});
    let parsed: JsonValue;
    try {
      parsed = parseJson(text);
    } catch {
      throw new JsonError('the body is not valid JSON');
    }
    return this.read(parsed);
  }

  /** The same of a parsed value. */
  read(value: JsonValue): Decoded<F> {
    if (!isObject(value)) throw new JsonError(`${this.name} must be an object`);
    const message = this.#type.empty();
    for (const [name, part] of Object.entries(value)) {
      const field = this.#byName.get(name.toLowerCase());
      // null says nothing, as in Go's decoder.
      if (field !== undefined && part !== null) message[field.slot.name] = readPart(field, part);
    }
    return message as Decoded<F>;
  }

  /** As a value for `writeJson`: fields in the order of the contract. */
  toJson(message: Encodable<F>): Record<string, unknown> {
    const json: Record<string, unknown> = {};
    for (const { slot, name, type } of this.#fields) {
      const part = (message as Values)[slot.name];
      if (part === undefined || part === DEFAULTS[slot.kind]) continue;
      const written = writePart(slot.kind, part, type);
      if (written !== undefined) json[name] = written;
    }
    return json;
  }
}

function readPart(field: JsonField, value: JsonValue): unknown {
  const wrong = (what: string): JsonError => new JsonError(`${field.name} must be ${what}`);
  switch (field.slot.kind) {
    case 'string':
      if (typeof value !== 'string') throw wrong('text');
      return value;
    case 'bytes': {
      const bytes = typeof value === 'string' ? fromBase64(value) : undefined;
      if (bytes === undefined) throw wrong('base64 text');
      return bytes;
    }
    case 'bool':
      if (typeof value !== 'boolean') throw wrong('true or false');
      return value;
    case 'int32': {
      const number = integerOf(value);
      if (number === undefined || BigInt.asIntN(32, number) !== number) throw wrong('a 32-bit integer');
      return Number(number);
    }
    case 'int64': {
      const number = integerOf(value);
      if (number === undefined || BigInt.asIntN(64, number) !== number) throw wrong('a 64-bit integer');
      return number;
    }
    case 'count':
      return countOf(value, wrong);
    case 'counts':
      if (!isList(value)) throw wrong('a list of integers');
      return value.map((each) => countOf(each, wrong));
    case 'map':
      return readMap(value, wrong);
    case 'message':
      return field.type?.read(value);
    case 'messages':
      if (!isList(value)) throw wrong('a list');
      return value.map((each) => field.type?.read(each));
  }
}

function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !isList(value);
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function countOf(value: JsonValue, wrong: (what: string) => JsonError): number {
  const number = integerOf(value);
  if (number === undefined || !Number.isSafeInteger(Number(number))) throw wrong('an integer');
  return Number(number);
}

function integerOf(value: JsonValue): bigint | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined;
  return typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? BigInt(value) : undefined;
}

function readMap(value: JsonValue, wrong: (what: string) => JsonError): ReadonlyMap<string, string> {
  if (!isObject(value)) throw wrong('an object of texts');
  const map = new Map<string, string>();
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw wrong('an object of texts');
    map.set(key, text);
  }
  return map;
}

function writePart(kind: Kind, part: unknown, type: JsonType<Fields> | undefined): unknown {
  switch (kind) {
    case 'bytes': {
      const bytes = part as Uint8Array;
      if (bytes.byteLength === 0) return undefined;
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    }
    case 'map': {
      const map = part as ReadonlyMap<string, string>;
      // A map and not an object: `__proto__` is a legal key.
      return map.size === 0 ? undefined : map;
    }
    case 'message':
      return type?.toJson(part as Values);
    case 'messages': {
      const list = part as readonly Values[];
      return list.length === 0 ? undefined : list.map((each) => type?.toJson(each));
    }
    case 'counts':
      return (part as readonly number[]).length === 0 ? undefined : part;
    default:
      return part;
  }
}
