import { sameValue } from '../topology/headers-match.js';
import { erlangFloat } from '../wire/erlang-terms.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { ReplyError } from '../wire/reply.js';
import { erlangType } from './publish-properties.js';

/** Says in RabbitMQ's words that a second declaration differs from the first one. */
export class Equivalence {
  readonly #subject: string;

  /** `subject`: e.g. `queue 'q' in vhost '/'`. */
  constructor(subject: string) {
    this.#subject = subject;
  }

  /** 406 when the values differ. */
  same(name: string, received: boolean | string, current: boolean | string): void {
    if (received === current) return;
    throw this.#differs(name, `received '${String(received)}' but current is '${String(current)}'`);
  }

  /** 406 when one of the named arguments differs: integers by value whatever their width, a number never equals a text. */
  sameArguments(names: readonly string[], received: FieldTable, current: FieldTable): void {
    for (const name of names) {
      const a = received.get(name);
      const b = current.get(name);
      if (a === undefined && b === undefined) continue;
      if (a === undefined && b !== undefined) {
        throw this.#differs(
          name,
          `received none but current is the value '${shown(b)}' of type '${erlangType(b)}'`,
        );
      }
      if (a !== undefined && b === undefined) {
        throw this.#differs(
          name,
          `received the value '${shown(a)}' of type '${erlangType(a)}' but current is none`,
        );
      }
      if (a === undefined || b === undefined || isSame(a, b)) continue;
      throw this.#differs(name, `received ${quoted(a)} but current is ${quoted(b)}`);
    }
  }

  #differs(name: string, how: string): ReplyError {
    return new ReplyError(406, `inequivalent arg '${name}' for ${this.#subject}: ${how}`);
  }
}

/** By kind and value: times are integers, too, and 5.0 is not 5. */
function isSame(a: FieldValue, b: FieldValue): boolean {
  return sameValue(asInteger(a), asInteger(b)) && isFloat(a) === isFloat(b);
}

function asInteger(field: FieldValue): FieldValue {
  return field.tag === 'T' ? { tag: 'l', value: field.value } : field;
}

function isFloat(field: FieldValue): boolean {
  return field.tag === 'f' || field.tag === 'd';
}

/** A value beside another one. */
function quoted(field: FieldValue): string {
  return field.tag === 'V' ? 'none' : `'${shown(field)}'`;
}

function shown(field: FieldValue): string {
  switch (field.tag) {
    case 'S':
    case 'x':
      return Buffer.from(field.value).toString('utf8');
    case 'f':
    case 'd':
      return erlangFloat(field.value);
    case 'D':
      return `{${field.value.scale},${field.value.unscaled}}`;
    case 'V':
      return 'undefined';
    case 'F':
    case 'A':
      return erlangType(field);
    default:
      return String(field.value);
  }
}
