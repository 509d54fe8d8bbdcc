import {
  ScalarType,
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
} from '@bufbuild/protobuf';
import type { FieldViolation } from './json-fault.js';

/** Levels of a request's JSON; no request of the API has more than a few. */
const DEPTH_MAX = 64;

/** Longest part of a wrong value that an error repeats. */
const SHOWN_CHARS_MAX = 200;

/** Names of the scalar types as Google's errors have them, and what JSON may stand for them. */
const INTEGER = /^-?\d+$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Reads JSON against a message: names in camelCase and in snake_case, unknown ones refused, every value of the type of its field.
 * The result has the names of proto3 JSON; what is wrong is added to `violations`, in Google's words.
 */
export function checkMessageJson(
  message: DescMessage,
  json: JsonValue,
  violations: FieldViolation[],
): JsonObject {
  return new JsonChecker(violations).message(message, json, '') as JsonObject;
}

/** The field of a name, in either spelling. */
export function fieldNamed(message: DescMessage, name: string): DescField | undefined {
  return message.fields.find((field) => field.jsonName === name || field.name === name);
}

class JsonChecker {
  readonly #violations: FieldViolation[];
  #depth = 0;

  constructor(violations: FieldViolation[]) {
    this.#violations = violations;
  }

  message(message: DescMessage, json: JsonValue, path: string): JsonValue {
    if (message.typeName.startsWith('google.protobuf.')) return this.#wellKnown(message, json, path);
    if (!isObject(json)) return this.#invalid(path, typeUrl(message), json);
    if (++this.#depth > DEPTH_MAX) return this.#invalid(path, typeUrl(message), 'nested too deeply');
    const checked: Record<string, JsonValue> = {};
    for (const [name, value] of Object.entries(json)) {
      const field = fieldNamed(message, name);
      if (field === undefined) this.#unknown(name, path);
      else if (value !== null) checked[field.jsonName] = this.#field(field, value, below(path, field.name));
    }
    this.#depth--;
    return checked;
  }

  #field(field: DescField, json: JsonValue, path: string): JsonValue {
    switch (field.fieldKind) {
      case 'list':
        // One value stands for a list of it, as Google's front end takes it.
        return (Array.isArray(json) ? json : [json]).map((item, i) =>
          this.#single(field, item, `${path}[${i}]`),
        );
      case 'map': {
        if (!isObject(json)) return this.#invalid(path, 'Map', json);
        const entries = Object.entries(json).map(([key, value]): [string, JsonValue] => [
          key,
          this.#single(field, value, `${path}[${key}]`),
        ]);
        return Object.fromEntries(entries);
      }
      default:
        if (!Array.isArray(json)) return this.#single(field, json, path);
        this.#violations.push(
          payloadFault(
            path,
            `Unknown name "${field.name}"`,
            'Proto field is not repeating, cannot start list.',
          ),
        );
        return json;
    }
  }

  #single(field: DescField, json: JsonValue, path: string): JsonValue {
    if (field.message !== undefined) return this.message(field.message, json, path);
    if (field.enum !== undefined) return this.#enum(field.enum, json, path);
    const { scalar } = field;
    return isScalar(scalar, json) ? json : this.#invalid(path, `TYPE_${ScalarType[scalar]}`, json);
  }

  #enum(type: DescEnum, json: JsonValue, path: string): JsonValue {
    if (typeof json === 'number' && Number.isInteger(json)) return json;
    if (typeof json === 'string') {
      if (type.values.some(({ name }) => name === json)) return json;
      if (INTEGER.test(json)) return Number(json);
    }
    return this.#invalid(path, `type.googleapis.com/${type.typeName}`, json);
  }

  /** Durations, times and masks are strings; whether good ones is seen when they are read. */
  #wellKnown(message: DescMessage, json: JsonValue, path: string): JsonValue {
    switch (message.typeName) {
      case 'google.protobuf.Timestamp':
      case 'google.protobuf.Duration':
        return typeof json === 'string' ? json : this.#invalid(path, typeUrl(message), json);
      case 'google.protobuf.FieldMask':
        return typeof json === 'string' ? camelMask(json) : this.#invalid(path, typeUrl(message), json);
      default:
        return json;
    }
  }

  #unknown(name: string, path: string): void {
    const where = path === '' ? `Unknown name "${name}"` : `Unknown name "${name}" at '${path}'`;
    this.#violations.push(payloadFault(path, where, 'Cannot find field.'));
  }

  #invalid(path: string, type: string, json: JsonValue): JsonValue {
    this.#violations.push({
      field: path,
      description: `Invalid value at '${path}' (${type}), ${shown(json)}`,
    });
    return json;
  }
}

function shown(json: JsonValue): string {
  try {
    return JSON.stringify(json).slice(0, SHOWN_CHARS_MAX);
  } catch {
    // Nested too deeply to be written.
    return '…';
  }
}

function payloadFault(field: string, where: string, what: string): FieldViolation {
  return { field, description: `Invalid JSON payload received. ${where}: ${what}` };
}

function isScalar(scalar: ScalarType, json: JsonValue): boolean {
  switch (scalar) {
    case ScalarType.STRING:
      return typeof json === 'string';
    case ScalarType.BYTES:
      return typeof json === 'string' && BASE64.test(json);
    case ScalarType.BOOL:
      return typeof json === 'boolean';
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return (
        typeof json === 'number' ||
        (typeof json === 'string' && json.trim() !== '' && !Number.isNaN(Number(json)))
      );
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return isInteger(json, -(2 ** 31), 2 ** 31 - 1);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return isInteger(json, 0, 2 ** 32 - 1);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return isInteger(json, 0, 2 ** 64);
    default:
      return isInteger(json, -(2 ** 63), 2 ** 63);
  }
}

function isInteger(json: JsonValue, min: number, max: number): boolean {
  if (typeof json === 'string' && !INTEGER.test(json)) return false;
  const value = typeof json === 'string' ? Number(json) : json;
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

/** Paths of a mask are lowerCamelCase in proto3 JSON; snake_case is what many write. */
function camelMask(mask: string): string {
  return mask.replace(/_([a-z0-9])/g, (_, next: string) => next.toUpperCase());
}

function typeUrl({ typeName }: DescMessage): string {
  return `type.googleapis.com/${typeName}`;
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
