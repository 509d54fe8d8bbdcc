import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { conditionsOf, headersMatch, matchMode, valueKey } from './headers-match.js';
import type { Binding } from './types.js';

/** Bindings that no header of a message can lead to: those that ask for nothing. */
const ALWAYS = '';

/**
 * Bindings of a headers exchange by what they ask for: each under one of its conditions (`all`), the one with the fewest
 * others, or under every one of them (`any`). Only bindings found so are compared in full.
 */
export class HeadersIndex {
  readonly #buckets = new Map<string, Set<Binding>>();

  add(binding: Binding): void {
    for (const key of this.#keysOf(binding)) {
      const bucket = this.#buckets.get(key);
      if (bucket === undefined) this.#buckets.set(key, new Set([binding]));
      else bucket.add(binding);
    }
  }

  #keysOf(binding: Binding): readonly string[] {
    const any = matchMode(binding.arguments).startsWith('any');
    const keys = conditionsOf(binding.arguments).map(([key, wanted]) =>
      wanted.tag === 'V' ? presence(key) : equality(key, wanted),
    );
    if (any) return keys;
    let best = ALWAYS;
    let least = Infinity;
    for (const key of keys) {
      const size = this.#buckets.get(key)?.size ?? 0;
      if (size < least) [best, least] = [key, size];
    }
    return [best];
  }

  remove(binding: Binding): void {
    const keys = conditionsOf(binding.arguments).flatMap(([key, wanted]) => [
      presence(key),
      equality(key, wanted),
    ]);
    for (const key of [ALWAYS, ...keys]) {
      const bucket = this.#buckets.get(key);
      if (bucket?.delete(binding) === true && bucket.size === 0) this.#buckets.delete(key);
    }
  }

  match(headers: FieldTable): Iterable<Binding> {
    const found = new Set<Binding>(this.#buckets.get(ALWAYS));
    for (const [key, value] of headers) {
      for (const bucket of [this.#buckets.get(presence(key)), this.#buckets.get(equality(key, value))]) {
        if (bucket === undefined) continue;
        for (const binding of bucket) if (headersMatch(binding.arguments, headers)) found.add(binding);
      }
    }
    return found;
  }
}

function presence(key: string): string {
  return `?${key}`;
}

function equality(key: string, field: FieldValue): string {
  return `=${key}\0${valueKey(field)}`;
}
