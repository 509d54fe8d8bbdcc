import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_TABLE } from '../wire/field-table.js';
import { TopicTrie } from './topic-trie.js';
import type { Binding } from './types.js';

function binding(routingKey: string, queue = 'q'): Binding {
  const destination = { kind: 'queue', name: queue } as const;
  return { source: 'x', destination, routingKey, arguments: EMPTY_TABLE, durable: false };
}

function matches(pattern: string, key: string): boolean {
  const trie = new TopicTrie();
  trie.add(binding(pattern));
  return [...trie.match(key)].length === 1;
}

const wordsOf = (text: string): readonly string[] => (text === '' ? [] : text.split('.'));

/** The definition, word for word. */
function model(pattern: readonly string[], key: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return key.length === 0;
  if (first === '#') return model(rest, key) || (key.length > 0 && model(pattern, key.slice(1)));
  return key.length > 0 && (first === '*' || first === key[0]) && model(rest, key.slice(1));
}

describe('topic patterns', () => {
  it('match as RabbitMQ was measured', () => {
    expect(matches('a.*.c.#', 'a.b.c')).toBe(true);
    expect(matches('a.#.c', 'a.c')).toBe(true);
    expect(matches('*', '')).toBe(false);
    expect(matches('#', '')).toBe(true);
    expect(matches('a.*', 'a.')).toBe(true);
    expect(matches('*.*', '.')).toBe(true);
    expect(matches('a', 'A')).toBe(false);
  });

  it('match as they are defined, many at once, while some come and go', () => {
    const pattern = fc.array(fc.constantFrom('a', 'b', '*', '#', ''), { maxLength: 5 });
    const key = fc.array(fc.constantFrom('a', 'b', '', 'c'), { maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(pattern, { maxLength: 12 }),
        fc.array(key, { maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        (patterns, keys, removals) => {
          const trie = new TopicTrie();
          const bound = patterns.map((words, i) => binding(words.join('.'), `q${String(i)}`));
          for (const one of bound) trie.add(one);
          for (const pick of removals) {
            if (bound.length === 0) break;
            const [gone] = bound.splice(pick % bound.length, 1);
            if (gone !== undefined) trie.remove(gone);
          }
          for (const words of keys) {
            const text = words.join('.');
            const expected = bound.filter((one) => model(wordsOf(one.routingKey), wordsOf(text)));
            expect(new Set(trie.match(text))).toEqual(new Set(expected));
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('with many wildcards are no trap', () => {
    const hard = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? '#' : 'a'));
    const key = Array.from({ length: 120 }, () => 'a').join('.');
    expect(matches([...hard, 'b'].join('.'), key)).toBe(false);
    expect(matches(hard.join('.'), key)).toBe(true);
  });
});
