import { fieldToJson } from '../mapping/json-headers.js';
import { erlangType } from '../mapping/publish-properties.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { ReplyError } from '../wire/reply.js';

const MODES = ['all', 'any', 'all-with-x', 'any-with-x'] as const;
type MatchMode = (typeof MODES)[number];

/** The `x-match` of a binding; 406 with RabbitMQ's text when it is none of the four. */
export function matchMode(bindingArguments: FieldTable): MatchMode {
  const field = bindingArguments.get('x-match');
  if (field === undefined) return 'all';
  if (field.tag !== 'S') {
    const value = String(fieldToJson(field));
    throw new ReplyError(
      406,
      `Invalid x-match field type ${erlangType(field)} (value ${value}); expected longstr`,
    );
  }
  const text = Buffer.from(field.value).toString('utf8');
  const mode = MODES.find((known) => known === text);
  if (mode !== undefined) return mode;
  throw new ReplyError(
    406,
    `Invalid x-match field value <<"${text}">>; expected all, any, all-with-x, or any-with-x`,
  );
}

/** What a binding asks for. Plain `all` and `any` do not look at keys that begin with `x-`. */
export function conditionsOf(bindingArguments: FieldTable): readonly (readonly [string, FieldValue])[] {
  const withX = matchMode(bindingArguments).endsWith('-with-x');
  return [...bindingArguments].filter(([key]) => key !== 'x-match' && (withX || !key.startsWith('x-')));
}

/**
 * Whether a binding of a headers exchange matches. A void value asks for the key alone. No keys to look at: `all` matches everything, `any` nothing.
 */
export function headersMatch(bindingArguments: FieldTable, headers: FieldTable): boolean {
  const any = matchMode(bindingArguments).startsWith('any');
  for (const [key, wanted] of conditionsOf(bindingArguments)) {
    const found = headers.get(key);
    const same = found !== undefined && (wanted.tag === 'V' || sameValue(wanted, found));
    if (same === any) return any;
  }
  return !any;
}

/** Equal by value: widths of integers do not count, and an integer equals the same floating-point number. */
export function sameValue(a: FieldValue, b: FieldValue): boolean {
  const x = numeric(a);
  const y = numeric(b);
  // eslint-disable-next-line eqeqeq -- only `==` compares a bigint with a number by value
  if (x !== undefined || y !== undefined) return x !== undefined && y !== undefined && x == y;
  if (a.tag !== b.tag) return false;
  switch (a.tag) {
    case 'S':
    case 'x':
      return b.value instanceof Uint8Array && Buffer.compare(a.value, b.value) === 0;
    case 'A':
      return (
        b.tag === 'A' &&
        a.value.length === b.value.length &&
        a.value.every((item, i) => {
          const other = b.value[i];
          return other !== undefined && sameValue(item, other);
        })
      );
    case 'F':
      return b.tag === 'F' && sameTable(a.value, b.value);
    case 'D':
      return b.tag === 'D' && a.value.scale === b.value.scale && a.value.unscaled === b.value.unscaled;
    default:
      return a.value === b.value;
  }
}

/** Equal for values that `sameValue` says are the same; different ones may share it. */
export function valueKey({ tag, value }: FieldValue): string {
  if (tag !== 'T' && (typeof value === 'number' || typeof value === 'bigint'))
    return `n${String(Number(value))}`;
  if (tag === 'S' || tag === 'x') return `${tag}${Buffer.from(value).toString('latin1')}`;
  return tag === 't' || tag === 'T' ? `${tag}${String(value)}` : tag;
}

/** Likewise for whole tables and `sameTable`. */
export function tableKey(table: FieldTable): string {
  if (table.size === 0) return '';
  return [...table]
    .map(([key, field]) => `${key}\0${valueKey(field)}`)
    .sort()
    .join('\0');
}

/** Equal keys with equal values, in any order. */
export function sameTable(a: FieldTable, b: FieldTable): boolean {
  if (a.size !== b.size) return false;
  for (const [key, field] of a) {
    const other = b.get(key);
    if (other === undefined || !sameValue(field, other)) return false;
  }
  return true;
}

function numeric(field: FieldValue): number | bigint | undefined {
  if (field.tag === 'T') return undefined;
  if (typeof field.value === 'number' || typeof field.value === 'bigint') return field.value;
  return undefined;
}
