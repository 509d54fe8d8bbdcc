import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadlineHeap } from './deadline-heap.js';

const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('set' as const), fc.nat(300), fc.nat(1000)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('remove' as const), fc.nat(300), fc.constant(0)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('pop' as const), fc.constant(0), fc.nat(1000)) },
);

describe('deadline heap', () => {
  it('holds what a plain map would', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const heap = new DeadlineHeap();
        const model = new Map<number, number>();
        for (const [what, handle, time] of steps) {
          if (what === 'set') {
            heap.set(handle, time);
            model.set(handle, time);
          } else if (what === 'remove') {
            heap.remove(handle);
            model.delete(handle);
          } else {
            const next = Math.min(...model.values());
            const popped = heap.pop(time);
            if (next > time) expect(popped).toBe(-1);
            else {
              expect(model.get(popped)).toBe(next);
              model.delete(popped);
            }
          }
          expect(heap.size).toBe(model.size);
          expect(heap.next).toBe(Math.min(...model.values()));
          expect(heap.of(handle)).toBe(model.get(handle));
        }
        const all = new Map<number, number>();
        heap.forEach((handle, deadline) => all.set(handle, deadline));
        expect([...all].sort()).toEqual([...model].sort());
      }),
    );
  });

  it('knows nothing of handles it never saw', () => {
    const heap = new DeadlineHeap();
    heap.remove(1_000_000);
    expect([heap.of(1_000_000), heap.next, heap.pop(Infinity)]).toEqual([undefined, Infinity, -1]);
  });
});
