import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWild, patternFault, SubjectTrie } from './subject-trie.js';

/** The rules as the contract tells them, token by token. */
function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  const rest = wanted.at(-1) === '>';
  if (rest ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every((token, place) => token === '*' || token === '>' || token === tokens[place]);
}

function found(trie: SubjectTrie<string>, subject: string): string[] {
  const values: string[] = [];
  trie.match(subject, (value) => values.push(value));
  return values.sort();
}

// Few tokens, so that patterns and subjects meet often; empty ones and Object's own names included.
const token = fc.constantFrom('a', 'b', 'c', '', 'constructor', '__proto__');
const subject = fc.array(token, { minLength: 1, maxLength: 5 }).map((tokens) => tokens.join('.'));
const pattern = fc
  .tuple(fc.array(fc.oneof(token, fc.constant('*')), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([tokens, rest]) => [...tokens, ...(rest ? ['>'] : [])].join('.'));

describe('SubjectTrie', () => {
  it('finds what a naive matcher finds, while patterns come and go', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), pattern), { maxLength: 30 }),
        fc.array(subject, { minLength: 1, maxLength: 10 }),
        (steps, subjects) => {
          const trie = new SubjectTrie<string>();
          const present = new Set<string>();
          for (const [isAdd, each] of steps) {
            if (isAdd) {
              trie.add(each, each);
              present.add(each);
            } else {
              trie.remove(each, each);
              present.delete(each);
            }
          }
          for (const each of subjects) {
            expect(found(trie, each)).toEqual([...present].filter((one) => matches(one, each)).sort());
          }
        },
      ),
      { numRuns: 500, seed: 20261130 },
    );
  });

  it('takes ">" alone for everything, and keeps nothing of what was removed', () => {
    const trie = new SubjectTrie<string>();
    trie.add('>', 'all');
    trie.add('a.*.c', 'one');
    expect(found(trie, 'a.b.c')).toEqual(['all', 'one']);
    expect(found(trie, 'x')).toEqual(['all']);
    trie.remove('>', 'all');
    trie.remove('a.*.c', 'one');
    trie.remove('never.there', 'one');
    expect(found(trie, 'a.b.c')).toEqual([]);
  });
});

describe('patterns', () => {
  it.each(['a', 'a.*', '*', '>', 'a.>', '*.*.c', 'a.*.>'])('%s is one', (each) => {
    expect(patternFault(each)).toBeUndefined();
  });

  it.each(['', 'a*', 'a.b>', '>.a', 'a.>.b', 'a b', 'a.', 'a.**', '**', 'a;b'])('"%s" is none', (each) => {
    expect(patternFault(each)).toBeDefined();
  });

  it('are wild when they hold a wildcard', () => {
    expect([isWild('a.b'), isWild('a.*'), isWild('>')]).toEqual([false, true, true]);
  });
});
