import type { AvroNode } from './avro-node.js';
import { SCHEMA_LIMITS } from './limits.js';

const INT_MIN = -(2 ** 31);
const INT_MAX = 2 ** 31 - 1;
const LONG_BOUND = 2 ** 63;

/**
 * What keeps a JSON value from being one of the type in Avro's JSON encoding, or undefined: unions as `{"string": "x"}`, bytes as
 * strings of the characters U+0000 to U+00FF. Fields with a default may be missing; those the schema does not name are ignored.
 */
export function avroJsonFault(type: AvroNode, value: unknown): string | undefined {
  return fault(type, value, { path: '', depth: 0 });
}

interface Place {
  readonly path: string;
  readonly depth: number;
}

function fault(type: AvroNode, value: unknown, place: Place): string | undefined {
  if (place.depth > SCHEMA_LIMITS.depthMax) {
    return `the data is nested deeper than ${SCHEMA_LIMITS.depthMax} levels`;
  }
  switch (type.typeName) {
    case 'record':
    case 'error':
      return recordFault(type, value, place);
    case 'array':
      return arrayFault(type, value, place);
    case 'map':
      return mapFault(type, value, place);
    case 'union:wrapped':
      return unionFault(type, value, place);
    default:
      return isScalar(type, value) ? undefined : mismatch(type, place);
  }
}

function isScalar(type: AvroNode, value: unknown): boolean {
  switch (type.typeName) {
    case 'null':
      return value === null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'int':
      return isWhole(value) && value >= INT_MIN && value <= INT_MAX;
    case 'long':
    case 'abstract:long':
      // JSON numbers are doubles here: the largest longs round to the bound itself.
      return isWhole(value) && Math.abs(value) <= LONG_BOUND;
    case 'float':
    case 'double':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'bytes':
      return isBytes(value);
    case 'fixed':
      return isBytes(value) && value.length === type.size;
    case 'enum':
      return typeof value === 'string' && type.symbols.includes(value);
    default:
      return false;
  }
}

function recordFault(type: AvroNode, value: unknown, place: Place): string | undefined {
  if (!isObject(value)) return mismatch(type, place);
  for (const field of type.fields) {
    const inner = below(place, field.name);
    if (!Object.hasOwn(value, field.name)) {
      if (field.defaultValue() === undefined) return `${inner.path}: the field is missing`;
      continue;
    }
    const found = fault(field.type, value[field.name], inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

function arrayFault(type: AvroNode, value: unknown, place: Place): string | undefined {
  if (!Array.isArray(value)) return mismatch(type, place);
  for (const [index, item] of value.entries()) {
    const found = fault(type.itemsType, item, below(place, String(index)));
    if (found !== undefined) return found;
  }
  return undefined;
}

function mapFault(type: AvroNode, value: unknown, place: Place): string | undefined {
  if (!isObject(value)) return mismatch(type, place);
  for (const [key, item] of Object.entries(value)) {
    const found = fault(type.valuesType, item, below(place, key));
    if (found !== undefined) return found;
  }
  return undefined;
}

function unionFault(type: AvroNode, value: unknown, place: Place): string | undefined {
  const { types } = type;
  if (value === null)
    return types.some(({ typeName }) => typeName === 'null') ? undefined : mismatch(type, place);
  if (!isObject(value))
    return `${place.path || 'the value'}: a value of a union names its type, as {"string": …}`;
  const [branchName, ...others] = Object.keys(value);
  const branch = types.find((each) => each.branchName === branchName);
  if (branchName === undefined || others.length > 0 || branch === undefined) return mismatch(type, place);
  return fault(branch, value[branchName], below(place, branchName));
}

function mismatch(type: AvroNode, { path }: Place): string {
  const name =
    type.typeName === 'abstract:long' ? 'long' : (type.name ?? type.typeName.replace(':wrapped', ''));
  return `${path || 'the value'}: not of type ${name}`;
}

function below({ path, depth }: Place, name: string): Place {
  return { path: path === '' ? name : `${path}.${name}`, depth: depth + 1 };
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}

function isBytes(value: unknown): value is string {
  // eslint-disable-next-line no-control-regex -- any byte is one character of the string
  return typeof value === 'string' && /^[\u0000-\u00ff]*$/u.test(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
