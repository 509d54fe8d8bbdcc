import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventIndex } from './event-index.js';

describe('event index', () => {
  it('is an array of places with a first number', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.constant('push' as const), fc.integer({ min: 1, max: 3000 })) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('trim' as const), fc.nat(100)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('truncate' as const), fc.nat(100)) },
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(step), (start, steps) => {
        const index = new EventIndex();
        index.startAt(start);
        let first = start;
        const model: { position: number; length: number; storedAt: number }[] = [];
        let time = 0;
        for (const [what, n] of steps) {
          if (what === 'push') {
            for (let i = 0; i < n; i++) {
              time += i % 3;
              const event = { position: time * 7, length: i + 1, storedAt: time };
              index.push(event.position, event.length, event.storedAt);
              model.push(event);
            }
          } else if (what === 'trim') {
            const by = Math.floor((model.length * n) / 100);
            model.splice(0, by);
            first += by;
            index.trim(first);
          } else {
            model.length = Math.floor((model.length * n) / 100);
            index.truncate(first + model.length);
          }
          expect([index.first, index.end, index.size]).toEqual([first, first + model.length, model.length]);
          for (const at of [0, Math.floor(model.length / 2), model.length - 1]) {
            const event = model[at];
            if (event === undefined) continue;
            const s = first + at;
            expect([index.position(s), index.length(s), index.storedAt(s)]).toEqual(Object.values(event));
            const found = model.findIndex((e) => e.storedAt >= event.storedAt);
            expect(index.atTime(event.storedAt)).toBe(first + found);
          }
          expect(index.atTime(time + 1)).toBe(first + model.length);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('moves an event to another place', () => {
    const index = new EventIndex();
    index.push(1, 2, 3);
    index.setPosition(1, 9);
    expect(index.position(1)).toBe(9);
    // Beyond what is there, both ends stay where they are.
    index.trim(0);
    index.truncate(100);
    expect([index.first, index.end]).toEqual([1, 2]);
  });
});
