import type { MessageAttribute } from '../wire/message-attributes.js';
import { comparable, isObject, satisfies } from './filter-policy.js';
import type { FilterPolicy, Leaf } from './filter-policy.js';

/** What filters see of one message: read when the first filter asks, once for all subscriptions. */
export class FilterValues {
  readonly #attributes: readonly MessageAttribute[];
  #byName: Map<string, readonly Leaf[]> | undefined;
  #bodyText: string | undefined;
  #body: unknown;

  constructor(attributes: readonly MessageAttribute[]) {
    this.#attributes = attributes;
  }

  /** Whether a subscription with this filter gets the message. `text`: the message as its protocol gets it. */
  passes(filter: FilterPolicy, text: string): boolean {
    if (filter.scope === 'attributes') {
      this.#byName ??= valuesByName(this.#attributes);
      const byName = this.#byName;
      const values = filter.paths.map((path) => byName.get(path));
      return satisfies(filter, values, this.#attributes.length > 0);
    }
    const body = this.#bodyOf(text);
    if (!isObject(body)) return false;
    return satisfies(filter, bodyValues(body, filter.paths), Object.keys(body).length > 0);
  }

  #bodyOf(text: string): unknown {
    if (this.#bodyText !== text) {
      this.#bodyText = text;
      this.#body = parse(text);
    }
    return this.#body;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Binary attributes are not looked at; arrays stand for each of their elements. */
function valuesByName(attributes: readonly MessageAttribute[]): Map<string, readonly Leaf[]> {
  const out = new Map<string, readonly Leaf[]>();
  for (const { name, dataType, value } of attributes) {
    if (typeof value !== 'string') continue;
    if (dataType === 'String.Array' || dataType === 'Number.Array') {
      const leaves: Leaf[] = [];
      addLeaves(leaves, parse(value));
      out.set(name, leaves);
    } else out.set(name, [dataType.startsWith('Number') ? comparable(Number(value)) : value]);
  }
  return out;
}

/** Adds the scalars in a value: itself, or those of an array at any depth. */
function addLeaves(out: Leaf[], value: unknown): void {
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const one = rest.pop();
    if (Array.isArray(one)) {
      for (const element of one as readonly unknown[]) rest.push(element);
    } else if (typeof one === 'number') {
      out.push(comparable(one));
    } else if (one === null || typeof one === 'string' || typeof one === 'boolean') {
      out.push(one);
    }
  }
}

/** A path that may still lead somewhere, and how much of it has been walked. */
interface Trail {
  readonly index: number;
  readonly path: string;
  readonly at: number;
}

/**
 * The scalars of a body under each path. A dot in a path is a step down or a dot in a key, whichever is there; arrays on
 * the way are searched through. Only parts that a path leads to are visited.
 */
function bodyValues(body: unknown, paths: readonly string[]): (readonly Leaf[] | undefined)[] {
  const found: (Leaf[] | undefined)[] = paths.map(() => undefined);
  const start = paths.map((path, index): Trail => ({ index, path, at: 0 }));
  const rest: { readonly node: unknown; readonly trails: readonly Trail[] }[] = [
    { node: body, trails: start },
  ];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { node, trails } = next;
    if (Array.isArray(node)) {
      for (const element of node as readonly unknown[]) rest.push({ node: element, trails });
      continue;
    }
    if (!isObject(node)) continue;
    for (const [key, value] of Object.entries(node)) {
      const on: Trail[] = [];
      for (const { index, path, at } of trails) {
        if (!path.startsWith(key, at)) continue;
        const end = at + key.length;
        if (end === path.length) addLeaves((found[index] ??= []), value);
        else if (path.charCodeAt(end) === DOT) on.push({ index, path, at: end + 1 });
      }
      if (on.length > 0) rest.push({ node: value, trails: on });
    }
  }
  return found;
}

const DOT = '.'.charCodeAt(0);
