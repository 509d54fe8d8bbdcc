import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Confirms } from './confirms.js';

function recorder(): { readonly confirms: Confirms; readonly said: string[] } {
  const said: string[] = [];
  const confirms = new Confirms({
    ack: (tag, multiple) => said.push(`ack ${String(tag)}${multiple ? ' multiple' : ''}`),
    nack: (tag) => said.push(`nack ${String(tag)}`),
  });
  return { confirms, said };
}

describe('confirms', () => {
  it('makes one ack of a run, and keeps the order around a nack', () => {
    const { confirms, said } = recorder();
    for (let i = 1; i <= 6; i++) expect(confirms.take()).toBe(i);
    for (const number of [1, 2, 3]) confirms.resolve(number, true);
    confirms.resolve(4, false);
    confirms.resolve(6, true);
    confirms.flush();
    expect(said).toEqual(['ack 3 multiple', 'nack 4']);
    confirms.resolve(5, true);
    confirms.flush();
    confirms.flush();
    expect(said.slice(2)).toEqual(['ack 6 multiple']);
  });

  it('tells every outcome once, in whatever order they come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }),
        fc.infiniteStream(fc.nat()),
        (stored, picks) => {
          const { confirms, said } = recorder();
          const open = stored.map(() => confirms.take());
          const picking = picks[Symbol.iterator]();
          while (open.length > 0) {
            const pick = Number(picking.next().value);
            const [number = 0] = open.splice(pick % open.length, 1);
            confirms.resolve(number, stored[number - 1] === true);
            if (pick % 3 === 0) confirms.flush();
          }
          confirms.flush();
          const told = new Map<number, boolean>();
          let acked = 0;
          for (const text of said) {
            const [kind, tag, multiple] = text.split(' ');
            const number = Number(tag);
            if (kind === 'nack') told.set(number, false);
            else
              for (let i = multiple === undefined ? number : acked + 1; i <= number; i++)
                if (!told.has(i)) told.set(i, true);
            acked = number;
          }
          expect([...told].sort(([a], [b]) => a - b)).toEqual(stored.map((kept, i) => [i + 1, kept]));
        },
      ),
    );
  });
});
