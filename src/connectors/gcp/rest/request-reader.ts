import { isUtf8 } from 'node:buffer';
import {
  fromJson,
  ScalarType,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
} from '@bufbuild/protobuf';
import { invalidArgument } from '../errors.js';
import { checkMessageJson, fieldNamed, isObject } from './json-check.js';
import { badJson, type FieldViolation } from './json-fault.js';

/** What an HTTP request says, apart from its method. */
export interface RestRequest {
  /** The path variable: which field, and its value. */
  readonly field: readonly string[];
  readonly value: string;
  /** The query, as it stood in the URL. */
  readonly query: string;
  /** Field that the body is, `*` for the whole message, undefined for none. */
  readonly bodyField: string | undefined;
  readonly body: Uint8Array;
}

/** Parameters of every Google API: none of them says what is asked for. */
const SYSTEM_PARAMETERS: ReadonlySet<string> = new Set([
  '$.xgafv',
  '$alt',
  '$callback',
  '$ct',
  '$fields',
  '$httpHeaders',
  '$httpMethod',
  '$key',
  '$outputDefaults',
  '$prettyPrint',
  '$req',
  '$userProject',
  'access_token',
  'alt',
  'callback',
  'fields',
  'key',
  'oauth_token',
  'pp',
  'prettyPrint',
  'quotaUser',
  'uploadType',
  'upload_protocol',
  'userIp',
  'userProject',
]);

/** The message that a request stands for; throws INVALID_ARGUMENT as Google's front end does. */
export function readRestRequest(message: DescMessage, request: RestRequest): Message {
  const violations: FieldViolation[] = [];
  const json = bodyOf(message, request);
  for (const [name, value] of new URLSearchParams(request.query)) {
    if (!SYSTEM_PARAMETERS.has(name)) bindQuery({ message, json, name, value, violations });
  }
  const checked = checkMessageJson(message, json, violations);
  if (violations.length > 0) throw badJson(violations);
  bindPath(checked, message, request);
  try {
    return fromJson(message, checked);
  } catch (error) {
    const description = `Invalid JSON payload received. ${error instanceof Error ? error.message : String(error)}.`;
    throw badJson([{ field: '', description }]);
  }
}

function bodyOf(message: DescMessage, { body, bodyField }: RestRequest): Record<string, JsonValue> {
  // A body where none belongs is passed over.
  if (bodyField === undefined || isBlank(body)) return {};
  const json = parse(body);
  if (bodyField !== '*') return { [bodyField]: json };
  if (!isObject(json)) {
    const description = `Invalid JSON payload received. The root of ${message.typeName} must be an object.`;
    throw badJson([{ field: '', description }]);
  }
  return { ...json };
}

function isBlank(body: Uint8Array): boolean {
  return body.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function parse(body: Uint8Array): JsonValue {
  if (!isUtf8(body)) {
    throw badJson([{ field: '', description: 'Invalid JSON payload received. It is not UTF-8.' }]);
  }
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()) as JsonValue;
  } catch (error) {
    const what = error instanceof Error ? error.message : '';
    throw badJson([{ field: '', description: `Invalid JSON payload received. ${what}` }]);
  }
}

/** Sets the field that a query parameter names; a parameter that is there again adds to a list. */
function bindQuery(parts: {
  readonly message: DescMessage;
  readonly json: Record<string, JsonValue>;
  readonly name: string;
  readonly value: string;
  readonly violations: FieldViolation[];
}): void {
  const { name, value, violations } = parts;
  const path = name.split('.');
  let { message, json } = parts;
  for (const [depth, part] of path.entries()) {
    const field = fieldNamed(message, part);
    const isLast = depth === path.length - 1;
    if (field === undefined || (!isLast && field.fieldKind !== 'message')) {
      const why = `Cannot bind query parameter. Field '${part}' could not be found in request message.`;
      const description = `Invalid JSON payload received. Unknown name "${name}": ${why}`;
      violations.push({ field: '', description });
      return;
    }
    if (isLast) {
      const plain = field.scalar === ScalarType.BOOL ? booleanOf(value) : value;
      const before = json[part];
      if (field.fieldKind === 'list') json[part] = Array.isArray(before) ? [...before, plain] : [plain];
      else json[part] = plain;
    } else if (field.message !== undefined) {
      const before = json[part];
      const inner: Record<string, JsonValue> = isObject(before) ? { ...before } : {};
      json[part] = inner;
      json = inner;
      message = field.message;
    }
  }
}

function booleanOf(value: string): JsonValue {
  return value === 'true' ? true : value === 'false' ? false : value;
}

/** The path says what is meant. A name in the body beside it must be the same; that of a resource inside gives way. */
function bindPath(json: JsonObject, message: DescMessage, { field, value }: RestRequest): void {
  const [first = '', second] = field;
  const outer = fieldNamed(message, first);
  if (outer === undefined) return;
  const { jsonName } = outer;
  const before = json[jsonName];
  if (second !== undefined) {
    json[jsonName] = { ...(isObject(before) ? before : {}), [second]: value };
    return;
  }
  if (typeof before === 'string' && before !== '' && before !== value) {
    throw invalidArgument(`The ${first} in the body (${before}) is not that of the path (${value}).`);
  }
  json[jsonName] = value;
}
