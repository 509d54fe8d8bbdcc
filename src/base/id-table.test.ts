import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdTable } from './id-table.js';

describe('a table by ids', () => {
  it('is a map whose values come by rising ids', () => {
    const operation = fc.record({
      id: fc.oneof(fc.nat(30), fc.nat(5000), fc.constantFrom(1023, 1024, 70_000)),
      what: fc.constantFrom('set', 'delete'),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const table = new IdTable<{ readonly at: number }>();
        const model = new Map<number, { readonly at: number }>();
        for (const [at, { id, what }] of operations.entries()) {
          if (what === 'set') {
            table.set(id, { at });
            model.set(id, { at });
          } else {
            table.delete(id);
            model.delete(id);
          }
          expect(table.get(id)).toEqual(model.get(id));
          expect(table.has(id)).toBe(model.has(id));
          expect(table.size).toBe(model.size);
        }
        const sorted = [...model].sort(([a], [b]) => a - b).map(([, value]) => value);
        expect([...table.values()]).toEqual(sorted);
      }),
    );
  });

  it('forgets what was deleted while it is walked', () => {
    const table = new IdTable<{ readonly id: number }>();
    for (let id = 0; id < 3000; id++) table.set(id, { id });
    for (const { id } of table.values()) table.delete(id);
    expect(table.size).toBe(0);
    expect([...table.values()]).toEqual([]);
  });
});
