import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../base/clock.js';
import { AckTimeouts } from './ack-timeouts.js';

describe('acknowledgement timeouts', () => {
  it('tell of each delivery that is late, when it is, whatever came first', () => {
    const clock = new ManualClock();
    const outstanding = new Set<number>();
    const late: string[] = [];
    const timeouts = new AckTimeouts(clock, {
      isOutstanding: (tag) => outstanding.has(tag),
      onLate: (tag, timeoutMs) => {
        outstanding.delete(tag);
        late.push(`${tag} after ${timeoutMs} at ${clock.now() - began}`);
      },
    });
    const began = clock.now();
    const add = (tag: number, timeoutMs: number): void => {
      outstanding.add(tag);
      timeouts.add(tag, timeoutMs);
    };
    add(1, 1000);
    add(2, 100);
    clock.advance(50);
    add(3, 100);
    add(4, 100);
    outstanding.delete(4);
    for (let i = 0; i < 20; i++) clock.advance(50);
    expect(late).toEqual(['2 after 100 at 100', '3 after 100 at 150', '1 after 1000 at 1000']);
    add(5, 100);
    timeouts.stop();
    clock.advance(1000);
    expect(late).toHaveLength(3);
  });

  it('forget what was acknowledged', () => {
    const clock = new ManualClock();
    let looks = 0;
    const timeouts = new AckTimeouts(clock, {
      isOutstanding: () => {
        looks++;
        return false;
      },
      onLate: () => undefined,
    });
    for (let tag = 1; tag <= 100_000; tag++) timeouts.add(tag, 60_000);
    const before = looks;
    clock.advance(60_000);
    expect(looks - before).toBeLessThan(2_100);
    // Throwing them out was cheap, too.
    expect(looks).toBeLessThan(300_000);
  });
});
