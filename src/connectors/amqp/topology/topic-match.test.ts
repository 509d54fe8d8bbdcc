import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { topicMatches, wordsOf } from './topic-match.js';

const matches = (pattern: string, key: string): boolean => topicMatches(wordsOf(pattern), wordsOf(key));

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

  it('match as they are defined, and quickly', () => {
    const word = fc.constantFrom('a', 'b', '');
    const patternWord = fc.constantFrom('a', 'b', '*', '#');
    fc.assert(
      fc.property(
        fc.array(patternWord, { maxLength: 6 }),
        fc.array(word, { maxLength: 6 }),
        (pattern, key) => {
          expect(topicMatches(pattern, key)).toBe(model(pattern, key));
        },
      ),
      { numRuns: 2000 },
    );
    const hard = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? '#' : 'a'));
    expect(
      topicMatches(
        [...hard, 'b'],
        Array.from({ length: 250 }, () => 'a'),
      ),
    ).toBe(false);
  });
});
