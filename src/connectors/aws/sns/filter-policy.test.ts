import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { AttributeFault } from './attribute-fault.js';
import { checkFilterPolicy } from './filter-policy-check.js';
import { compileFilter } from './filter-policy.js';
import type { FilterScope } from './filter-policy.js';
import { FilterValues } from './filter-values.js';
import { flatten, reference, type Json } from '../../../../test/support/filter-reference.js';

function passes(
  policy: Json,
  scope: FilterScope,
  message: { attributes?: MessageAttribute[]; body?: unknown },
) {
  const text = checkFilterPolicy(JSON.stringify(policy), scope);
  const body = typeof message.body === 'string' ? message.body : JSON.stringify(message.body ?? 'text');
  return new FilterValues(message.attributes ?? []).passes(compileFilter(text, scope), body);
}

const attribute = (name: string, dataType: string, value: string | Uint8Array): MessageAttribute => ({
  name,
  dataType,
  value,
});
const text = (value: string) => [attribute('k', 'String', value)];
const number = (value: string) => [attribute('k', 'Number', value)];
const list = (value: unknown, type = 'String.Array') => [attribute('k', type, JSON.stringify(value))];

describe('on attributes', () => {
  it.each<[string, unknown[], MessageAttribute[], boolean]>([
    ['text', ['a', 'b'], text('b'), true],
    ['case', ['A'], text('a'), false],
    ['number by value', [301.5], number('3.015e2'), true],
    ['a number is no text', ['5'], number('5'), false],
    ['text is no number', [5], text('5'), false],
    ['custom types', ['x'], [attribute('k', 'String.custom', 'x')], true],
    ['binary values are not seen', [{ exists: true }], [attribute('k', 'Binary', Buffer.from('x'))], false],
    ['an element of an array', ['b'], list(['a', 'b']), true],
    ['true, null and numbers in an array', [true], list(['a', true]), true],
    ['null in an array', [null], list([null]), true],
    ['an array that is none', ['a'], [attribute('k', 'String.Array', '["a"')], false],
    ['anything but a text', [{ 'anything-but': 'a' }], text('b'), true],
    ['anything but the same text', [{ 'anything-but': 'a' }], text('a'), false],
    ['anything but needs a value', [{ 'anything-but': 'a' }], [], false],
    ['anything but one of a list', [{ 'anything-but': ['a', 5] }], number('5.0'), false],
    ['anything but: some element is outside', [{ 'anything-but': ['a'] }], list(['a', 'b']), true],
    ['anything but: no element is outside', [{ 'anything-but': ['a', 'b'] }], list(['a', 'b']), false],
    ['anything but, arrays of numbers', [{ 'anything-but': [1] }], list([1, 2], 'Number.Array'), true],
    ['anything but a prefix', [{ 'anything-but': { prefix: 'or' } }], text('order'), false],
    ['anything but a prefix, other text', [{ 'anything-but': { prefix: 'or' } }], text('bar'), true],
    ['prefix', [{ prefix: 'bas' }], text('baseball'), true],
    ['suffix', [{ suffix: 'ball' }], text('baseball'), true],
    ['suffix, other text', [{ suffix: 'ball' }], text('balloon'), false],
    ['ignoring case', [{ 'equals-ignore-case': 'TENNIS' }], text('Tennis'), true],
    ['wildcard', [{ wildcard: 'a*c*e' }], text('abcde'), true],
    ['wildcard parts must not overlap', [{ wildcard: 'ab*ba' }], text('aba'), false],
    ['wildcard without a star', [{ wildcard: 'ab' }], text('ab'), true],
    ['equal number (getmoto/moto#5304)', [{ numeric: ['=', 0] }], number('0e0'), true],
    ['range', [{ numeric: ['>', 0, '<=', 150] }], number('150'), true],
    ['range, outside', [{ numeric: ['>', 0, '<=', 150] }], number('150.1'), false],
    ['equal to the millionth', [100.123456789], number('100.1234567'), true],
    ['equal to less', [100.1234], number('100.12345'), false],
    ['equal to the millionth in an array', [100.123456789, 500], list([100.1234567, 50]), true],
    ['below by less than a millionth', [{ numeric: ['<', 1.0000009] }], number('1.0000001'), false],
    ['anything but, to the millionth', [{ 'anything-but': 0.12345678 }], number('0.12345679'), false],
    ['great numbers whole', [{ numeric: ['<', 1e300] }], number('1e299'), true],
    ['below', [{ numeric: ['<', 10] }], number('-3'), true],
    ['at least', [{ numeric: ['>=', 10] }], number('10'), true],
    ['numeric on text', [{ numeric: ['>', 0] }], text('5'), false],
    ['exists', [{ exists: true }], text('x'), true],
    ['does not exist, beside another', [{ exists: false }], [attribute('other', 'String', 'x')], true],
    ['does not exist, and nothing else does', [{ exists: false }], [], false],
    ['exists, where it must not', [{ exists: false }], text('x'), false],
    ['address in a network', [{ cidr: '10.0.0.0/24' }], text('10.0.0.255'), true],
    ['address outside', [{ cidr: '10.0.0.0/24' }], text('10.0.1.0'), false],
    ['address of version 6', [{ cidr: '2001:db8::/32' }], text('2001:db8:1::1'), true],
    ['no address', [{ cidr: '10.0.0.0/24' }], text('10.0.0'), false],
    ['one of several rules', ['z', { prefix: 'b' }, { numeric: ['=', 1] }], text('bar'), true],
  ])('%s', (_, rules, attributes, expected) => {
    expect(passes({ k: rules }, 'attributes', { attributes })).toBe(expected);
  });

  it('all keys must match, and of a choice one alternative', () => {
    const both = [attribute('a', 'String', '1'), attribute('b', 'String', '2')];
    expect(passes({ a: ['1'], b: ['2'] }, 'attributes', { attributes: both })).toBe(true);
    expect(passes({ a: ['1'], b: ['3'] }, 'attributes', { attributes: both })).toBe(false);
    const or = { $or: [{ a: ['9'] }, { b: ['2'], a: ['1'] }] };
    expect(passes(or, 'attributes', { attributes: both })).toBe(true);
    expect(passes({ ...or, c: ['x'] }, 'attributes', { attributes: both })).toBe(false);
    // One object, or rules in it: an attribute of that name.
    const named = [attribute('$or', 'String', 'prefixed')];
    const rules = [{ prefix: 'pre' }, { prefix: 'x' }];
    expect(passes({ $or: rules }, 'attributes', { attributes: named })).toBe(true);
  });
});

describe('on bodies', () => {
  it.each<[string, Json, unknown, boolean]>([
    ['a nested value', { o: { k: [{ prefix: 'auto-' }, 'x'] } }, { o: { k: 'auto-1' } }, true],
    ['another nested value', { o: { k: ['x'] } }, { o: { k: 'y' } }, false],
    ['no object', { k: ['x'] }, ['x'], false],
    ['no JSON', { k: ['x'] }, 'text', false],
    ['an array is searched', { k: ['b'] }, { k: ['a', ['b']] }, true],
    [
      'objects in arrays',
      { Records: { s3: { key: ['x'] } } },
      { Records: [{ s3: { key: 'y' } }, { s3: { key: 'x' } }] },
      true,
    ],
    [
      'conditions met by different elements',
      { r: { a: ['1'], b: ['2'] } },
      {
        r: [
          { a: '1', b: '9' },
          { a: '9', b: '2' },
        ],
      },
      true,
    ],
    ['a dot is a step down', { 'a.b': ['x'] }, { a: { b: 'x' } }, true],
    ['a dot in a key', { a: { b: ['x'] } }, { 'a.b': 'x' }, true],
    ['a dot in a key and a step', { 'a.b': { c: ['x'] } }, { a: { 'b.c': 'x' } }, true],
    ['a part of a key is not a key', { 'a.b': ['x'] }, { a: { bc: 'x' } }, false],
    ['null', { k: [null] }, { k: null }, true],
    ['null is not absent', { k: [{ exists: false }] }, { k: null }, false],
    ['null is no value', { k: [{ exists: true }] }, { k: null }, false],
    ['empty text is no value', { k: [{ exists: true }] }, { k: '' }, false],
    ['an inner node does not exist', { k: [{ exists: true }] }, { k: { x: 1 } }, false],
    ['absent', { k: [{ exists: false }] }, { other: 1 }, true],
    ['absent from nothing', { k: [{ exists: false }] }, {}, false],
    ['an empty array is absent', { k: [{ exists: false }] }, { k: [] }, true],
    ['false', { k: [false] }, { k: false }, true],
    ['anything but, null', { k: [{ 'anything-but': 'x' }] }, { k: null }, false],
    ['choices inside', { o: { $or: [{ a: [1] }, { b: [2] }] } }, { o: { b: 2 } }, true],
    ['__proto__ is a key', JSON.parse('{"__proto__":["x"]}') as Json, '{"__proto__":"x"}', true],
  ])('%s', (_, policy, body, expected) => {
    expect(passes(policy, 'body', { body })).toBe(expected);
  });

  it('takes deep and wide bodies in its stride', () => {
    const deep = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000);
    expect(passes({ a: { a: { b: ['x'] } } }, 'body', { body: deep })).toBe(false);
    const nested = `{"k":${'['.repeat(20_000)}"x"${']'.repeat(20_000)}}`;
    expect(passes({ k: ['x'] }, 'body', { body: nested })).toBe(true);
    const wide = JSON.stringify({ k: Array.from({ length: 100_000 }, (_, i) => i % 2) });
    expect(passes({ k: [2] }, 'body', { body: wide })).toBe(false);
  });
});

describe('a policy is refused', () => {
  it.each<[unknown, string]>([
    ['{', 'FilterPolicy: failed to parse JSON.'],
    [[], 'FilterPolicy: Filter is not an object'],
    [{ k: 'x' }, 'FilterPolicy: "k" must be an object or an array'],
    [{ k: [] }, 'FilterPolicy: Empty arrays are not allowed'],
    [{ k: { l: ['x'] } }, 'Filter policy scope MessageAttributes does not support nested filter policy'],
    [{ k: { suffix: 'x' } }, 'FilterPolicy: "suffix" must be an object or an array'],
    [
      { a: [1], b: [1], c: [1], d: [1], e: [1], f: [1] },
      'FilterPolicy: Filter policy can not have more than 5 keys',
    ],
    [{ k: Array.from({ length: 151 }, (_, i) => i) }, 'FilterPolicy: Filter policy is too complex'],
    [{ k: [['x']] }, 'FilterPolicy: Match value must be String, number, true, false, or null'],
    [{ k: [{ 'wrong-operator': true }] }, 'FilterPolicy: Unrecognized match type wrong-operator'],
    [{ k: [{ suffix: 'a', prefix: 'b' }] }, 'FilterPolicy: Only one key allowed in match expression'],
    [{ k: [{ suffix: 100 }] }, 'FilterPolicy: suffix match pattern must be a string'],
    [{ k: [{ prefix: null }] }, 'FilterPolicy: prefix match pattern must be a string'],
    [
      { k: [{ 'equals-ignore-case': [] }] },
      'FilterPolicy: equals-ignore-case match pattern must be a string',
    ],
    [{ k: [{ 'anything-but': { suffix: 'x' } }] }, 'FilterPolicy: Unsupported anything-but pattern: suffix'],
    [{ k: [{ exists: 'no' }] }, 'FilterPolicy: exists match pattern must be either true or false.'],
    [{ k: [{ numeric: [] }] }, 'FilterPolicy: Invalid member in numeric match: ]'],
    [{ k: [{ numeric: ['operator'] }] }, 'FilterPolicy: Unrecognized numeric range operator: operator'],
    [{ k: [{ numeric: [1, '<='] }] }, 'FilterPolicy: Invalid member in numeric match: 1'],
    [{ k: [{ numeric: ['=', '000'] }] }, 'FilterPolicy: Value of equals must be numeric'],
    [{ k: [{ numeric: ['>='] }] }, 'FilterPolicy: Value of >= must be numeric'],
    [{ k: [{ numeric: ['<', 100, '>', 10] }] }, 'FilterPolicy: Too many elements in numeric expression'],
    [{ k: [{ numeric: ['>=', 1, '>', 2] }] }, 'FilterPolicy: Bad numeric range operator: >'],
    [{ k: [{ numeric: ['>', 3, '<', 1] }] }, 'FilterPolicy: Bottom must be less than top'],
    [{ k: [{ numeric: ['>', 20, '<='] }] }, 'FilterPolicy: Value of <= must be numeric'],
    [{ k: [{ numeric: ['>', 20, 30] }] }, 'FilterPolicy: Bad value in numeric range: 30'],
    [{ k: [{ numeric: ['>', 20, 'test'] }] }, 'FilterPolicy: Bad numeric range operator: test'],
    [{ k: [{ numeric: ['>', '20', '<', '30'] }] }, 'FilterPolicy: Value of > must be numeric'],
    [{ k: [{ numeric: ['>', 20, '<', '30'] }] }, 'FilterPolicy: Value of < must be numeric'],
    [
      { k: [{ numeric: ['>', 20, '<', 30, '<', 50] }] },
      'FilterPolicy: Too many terms in numeric range expression',
    ],
    [{ k: [{ cidr: 5 }] }, 'FilterPolicy: prefix match pattern must be a string'],
    [{ k: [{ cidr: '10.0.0.0' }] }, "FilterPolicy: Malformed CIDR, one '/' required"],
    [{ k: [{ cidr: '10.0.0.0/x' }] }, 'FilterPolicy: Malformed CIDR, mask bits must be an integer'],
    [{ k: [{ cidr: '10.0/24' }] }, 'FilterPolicy: Nonstandard IP address: 10.0'],
  ])('%j: %s', (policy, message) => {
    const asText = typeof policy === 'string' ? policy : JSON.stringify(policy);
    expect(() => checkFilterPolicy(asText, 'attributes')).toThrow(new AttributeFault(message));
  });

  it('counts combinations by values, depth and alternatives', () => {
    const values = (count: number) => Array.from({ length: count }, (_, i) => i);
    const ok = (policy: Json) => checkFilterPolicy(JSON.stringify(policy), 'body') !== '';
    // 3 × 4 × 2 × 3 = 72, the example of AWS's documentation.
    expect(ok({ a: { b: { c: values(4) } }, d: { e: values(3) } })).toBe(true);
    expect(() => ok({ a: { b: { c: values(4) } }, d: { e: values(7) } })).toThrow('too complex');
    expect(ok({ a: values(15), b: values(10) })).toBe(true);
    expect(() => ok({ a: values(16), b: values(10) })).toThrow('too complex');
    expect(ok({ $or: [{ a: values(75) }, { b: values(75) }] })).toBe(true);
    expect(() => ok({ $or: [{ a: values(75) }, { b: values(76) }] })).toThrow('too complex');
  });

  it('an empty one filters nothing', () => {
    expect(checkFilterPolicy('{}', 'attributes')).toBe('');
    expect(checkFilterPolicy('', 'body')).toBe('');
  });
});

const keys = fc.constantFrom('a', 'b', 'c', 'a.b', '$or', 'prefix');
const scalars = fc.constantFrom<unknown>('', 'a', 'A', 'ab', 'aba', 'b', 0, 1, 1.5, -2, true, false, null);
const texts = fc.constantFrom('', 'a', 'A', 'ab', 'b', 'ba');
const numbers = fc.constantFrom(-2, 0, 1, 1.5, 2);
const rules = fc.oneof(
  { weight: 4, arbitrary: scalars },
  texts.map((value) => ({ prefix: value })),
  texts.map((value) => ({ suffix: value })),
  texts.map((value) => ({ 'equals-ignore-case': value })),
  texts.map((value) => ({ 'anything-but': { prefix: value } })),
  fc
    .oneof(scalars, fc.array(scalars, { minLength: 1, maxLength: 3 }))
    .map((value) => ({ 'anything-but': value })),
  fc.constantFrom('*', 'a*', '*a', 'a*a', '*b*', 'a').map((value) => ({ wildcard: value })),
  fc.boolean().map((value) => ({ exists: value })),
  fc.tuple(fc.constantFrom('=', '<', '<=', '>', '>='), numbers).map((value) => ({ numeric: value })),
  fc
    .tuple(fc.constantFrom('>', '>='), numbers, fc.constantFrom('<', '<='), numbers)
    .map((value) => ({ numeric: value })),
);
const leaves = fc.array(rules, { minLength: 1, maxLength: 3 });
const { policies } = fc.letrec<{ policies: Json; value: unknown }>((tie) => ({
  policies: fc.dictionary(keys, tie('value'), { minKeys: 1, maxKeys: 3 }),
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 4, arbitrary: leaves },
    { weight: 1, arbitrary: fc.array(tie('policies'), { minLength: 2, maxLength: 3 }) },
    { weight: 2, arbitrary: tie('policies') },
  ),
}));
const { body } = fc.letrec<{ body: Json; part: unknown }>((tie) => ({
  body: fc.dictionary(keys, tie('part'), { maxKeys: 4 }),
  part: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    { weight: 4, arbitrary: scalars },
    { weight: 2, arbitrary: tie('body') },
    { weight: 1, arbitrary: fc.array(tie('part'), { maxLength: 3 }) },
  ),
}));

function checked(policy: Json, scope: FilterScope): string | undefined {
  try {
    return checkFilterPolicy(JSON.stringify(policy), scope);
  } catch (error) {
    expect(error).toBeInstanceOf(AttributeFault);
    return undefined;
  }
}

describe('against the reference', () => {
  it('bodies pass and fail alike', () => {
    let compared = 0;
    const property = fc.property(
      policies,
      fc.array(body, { minLength: 1, maxLength: 8 }),
      (policy, messages) => {
        const accepted = checked(policy, 'body');
        if (accepted === undefined || accepted === '') return;
        const filter = compileFilter(accepted, 'body');
        for (const message of messages) {
          const pairs: [string, unknown][] = [];
          flatten(message, [], pairs);
          compared++;
          expect(new FilterValues([]).passes(filter, JSON.stringify(message))).toBe(
            reference(policy, pairs, Object.keys(message).length > 0),
          );
        }
      },
    );
    fc.assert(property, { numRuns: 1_500, seed: 1 });
    expect(compared).toBeGreaterThan(1_000);
  });

  it('attributes pass and fail alike', () => {
    const value = fc.oneof(
      texts.filter((one) => one !== '').map((one): [string, string, unknown[]] => ['String', one, [one]]),
      numbers.map((one): [string, string, unknown[]] => ['Number', String(one), [one]]),
      fc
        .array(scalars, { maxLength: 3 })
        .map((one): [string, string, unknown[]] => ['String.Array', JSON.stringify(one), one]),
    );
    const messages = fc.array(fc.dictionary(keys, value, { maxKeys: 3 }), { minLength: 1, maxLength: 6 });
    const flat = fc.dictionary(
      keys,
      fc.oneof(
        leaves,
        fc.array(fc.dictionary(keys, leaves, { minKeys: 1, maxKeys: 2 }), { minLength: 2, maxLength: 3 }),
      ),
      { minKeys: 1, maxKeys: 3 },
    );
    const property = fc.property(flat, messages, (policy, given) => {
      const accepted = checked(policy, 'attributes');
      if (accepted === undefined || accepted === '') return;
      const filter = compileFilter(accepted, 'attributes');
      for (const one of given) {
        const attributes = Object.entries(one).map(([name, [type, raw]]) => attribute(name, type, raw));
        const pairs = Object.entries(one).flatMap(([name, [, , found]]) =>
          found.map((leaf): [string, unknown] => [name, leaf]),
        );
        expect(new FilterValues(attributes).passes(filter, 'x')).toBe(
          reference(policy, pairs, attributes.length > 0),
        );
      }
    });
    fc.assert(property, { numRuns: 1_500, seed: 2 });
  });

  it('nothing but AttributeFault comes of whatever JSON', () => {
    const property = fc.property(fc.json({ maxDepth: 5 }), (json) => {
      for (const scope of ['attributes', 'body'] as const) {
        try {
          const accepted = checkFilterPolicy(json, scope);
          if (accepted !== '') new FilterValues([]).passes(compileFilter(accepted, scope), '{"a":[1]}');
        } catch (error) {
          expect(error).toBeInstanceOf(AttributeFault);
        }
      }
    });
    fc.assert(property, { numRuns: 800, seed: 3 });
  });
});
