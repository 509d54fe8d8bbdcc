import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrokerError } from '../../core/errors.js';
import { GCP_LIMITS } from './config.js';
import { compileFilter } from './filter.js';

const attributes = new Map([
  ['lang', 'en'],
  ['name', 'com.example'],
  ['dotted.key', 'x'],
  ['empty', ''],
  ['quote', 'a"b'],
]);
const matches = (filter: string): boolean => compileFilter(filter)(attributes);

describe('filters', () => {
  it.each([
    ['', true],
    ['  ', true],
    ['attributes:lang', true],
    ['attributes:nope', false],
    ['attributes.lang = "en"', true],
    ['attributes.lang="de"', false],
    ['attributes.lang != "en"', false],
    ['attributes.nope != "en"', true],
    ['attributes.empty = ""', true],
    ['attributes:"dotted.key"', true],
    ['attributes."dotted.key" = "x"', true],
    ['hasPrefix(attributes.name, "com.")', true],
    ['hasPrefix(attributes.name, "co.")', false],
    ['hasPrefix(attributes.nope, "")', false],
    ['NOT attributes:lang', false],
    ['NOT NOT attributes:lang', true],
    ['-attributes:nope', true],
    ['NOT (attributes:nope OR attributes:nope2)', true],
    ['attributes:lang AND attributes:name AND attributes:nope', false],
    ['attributes:nope OR attributes:nope2 OR attributes:lang', true],
    ['attributes:nope AND NOT attributes:lang', false],
    ['(attributes:nope AND attributes:lang) OR attributes:name', true],
    ['attributes.quote = "a\\"b"', true],
    ['attributes.lang = "\\x65\\u006e"', true],
    ['attributes.lang = "\\145\\U0000006e"', true],
    ['attributes:LANG', false],
  ])('%j gives %j', (filter, expected) => {
    expect(matches(filter)).toBe(expected);
  });

  it.each([
    'garbage',
    'attributes',
    'attributes.',
    'attributes.lang',
    'attributes.lang =',
    'attributes.lang = en',
    'attributes.lang < "en"',
    'attributes.lang = 5',
    'attributes.lang == "en"',
    'attributes:lang and attributes:name',
    'attributes:lang AND',
    'AND attributes:lang',
    'attributes:lang attributes:name',
    'attributes:a AND attributes:b OR attributes:c',
    'attributes:a OR attributes:b AND attributes:c',
    '(attributes:lang',
    'attributes:lang)',
    'hasPrefix(attributes.name "com")',
    'hasPrefix(attributes:name, "com")',
    'hasSuffix(attributes.name, "com")',
    'data = "x"',
    'attributes.lang = "unclosed',
    'attributes.lang = "\\q"',
    'attributes.lang = "\\UFFFFFFFF"',
    'attributes:lang;',
    `NOT ${'('.repeat(100)}`,
    `attributes.lang = "${'x'.repeat(256)}"`,
    '-'.repeat(200),
  ])('%j is refused', (filter) => {
    expect(() => compileFilter(filter)).toThrow(BrokerError);
  });

  it('whatever the text, is compiled or refused with invalid-argument', () => {
    const piece = fc.constantFrom(
      'attributes',
      '.',
      ':',
      '"a"',
      'AND',
      'OR',
      'NOT',
      '(',
      ')',
      '=',
      '!=',
      ' ',
      ',',
      'hasPrefix',
      '-',
      'k',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        try {
          compileFilter(pieces.join(' '))(attributes);
        } catch (caught) {
          expect(caught).toMatchObject({ kind: 'invalid-argument' });
        }
      }),
    );
  });

  it('means what its parts mean', () => {
    interface Part {
      readonly text: string;
      readonly holds: boolean;
    }
    const own = new Map([
      ['a', 'one'],
      ['b', 'two words'],
      ['odd key.', '"quoted" \\'],
    ]);
    const key = fc.constantFrom('a', 'b', 'odd key.', 'missing');
    const value = fc.constantFrom('one', 'on', 'two words', '"quoted" \\', '');
    const quote = (text: string): string => JSON.stringify(text);
    const predicate: fc.Arbitrary<Part> = fc.oneof(
      key.map((name) => ({ text: `attributes:${quote(name)}`, holds: own.has(name) })),
      fc.tuple(key, value).map(([name, text]) => ({
        text: `attributes.${quote(name)} = ${quote(text)}`,
        holds: own.get(name) === text,
      })),
      fc.tuple(key, value).map(([name, text]) => ({
        text: `attributes.${quote(name)} != ${quote(text)}`,
        holds: own.get(name) !== text,
      })),
      fc.tuple(key, value).map(([name, text]) => ({
        text: `hasPrefix(attributes.${quote(name)}, ${quote(text)})`,
        holds: own.get(name)?.startsWith(text) === true,
      })),
    );
    const { whole } = fc.letrec<{ term: Part; whole: Part }>((tie) => ({
      term: fc.oneof(
        { weight: 3, arbitrary: predicate },
        tie('term').map(({ text, holds }) => ({ text: `NOT (${text})`, holds: !holds })),
        tie('whole').map(({ text, holds }) => ({ text: `(${text})`, holds })),
      ),
      whole: fc.oneof(
        { weight: 2, arbitrary: tie('term') },
        fc.array(tie('term'), { minLength: 2, maxLength: 3 }).map((terms) => ({
          text: terms.map(({ text }) => text).join(' AND '),
          holds: terms.every(({ holds }) => holds),
        })),
        fc.array(tie('term'), { minLength: 2, maxLength: 3 }).map((terms) => ({
          text: terms.map(({ text }) => text).join(' OR '),
          holds: terms.some(({ holds }) => holds),
        })),
      ),
    }));
    fc.assert(
      fc.property(whole, ({ text, holds }) => {
        fc.pre(Buffer.byteLength(text) <= GCP_LIMITS.filterBytesMax);
        expect([text, compileFilter(text)(own)]).toEqual([text, holds]);
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});
