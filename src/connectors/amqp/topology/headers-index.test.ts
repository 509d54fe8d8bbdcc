import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { HeadersIndex } from './headers-index.js';
import { headersMatch } from './headers-match.js';
import type { Binding } from './types.js';

function binding(args: FieldTable, i: number): Binding {
  const destination = { kind: 'queue', name: `q${String(i)}` } as const;
  return { source: 'x', destination, routingKey: '', arguments: args, durable: false };
}

const value = fc.constantFrom<FieldValue>(
  { tag: 'I', value: 1 },
  { tag: 'l', value: 1n },
  { tag: 'd', value: 1 },
  { tag: 'd', value: 1.5 },
  { tag: 'S', value: Buffer.from('1') },
  { tag: 'x', value: Buffer.from('1') },
  { tag: 't', value: true },
  { tag: 'T', value: 1n },
  { tag: 'V', value: null },
  { tag: 'A', value: [{ tag: 'I', value: 1 }] },
  { tag: 'A', value: [{ tag: 'I', value: 2 }] },
  { tag: 'F', value: new Map([['k', { tag: 'I', value: 1 }]]) },
);
const headers = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'x-c'), value), { maxLength: 4 })
  .map((entries) => new Map(entries));
const args = fc
  .tuple(headers, fc.constantFrom(undefined, 'all', 'any', 'all-with-x', 'any-with-x'))
  .map(([table, mode]) =>
    mode === undefined
      ? table
      : new Map<string, FieldValue>([...table, ['x-match', { tag: 'S', value: Buffer.from(mode) }]]),
  );

describe('the index of a headers exchange', () => {
  it('finds what comparing every binding finds, while some come and go', () => {
    fc.assert(
      fc.property(
        fc.array(args, { maxLength: 12 }),
        fc.array(headers, { maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        (tables, messages, removals) => {
          const index = new HeadersIndex();
          const bound = tables.map(binding);
          for (const one of bound) index.add(one);
          for (const pick of removals) {
            if (bound.length === 0) break;
            const [gone] = bound.splice(pick % bound.length, 1);
            if (gone !== undefined) index.remove(gone);
          }
          for (const message of messages) {
            const expected = bound.filter((one) => headersMatch(one.arguments, message));
            expect(new Set(index.match(message))).toEqual(new Set(expected));
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
