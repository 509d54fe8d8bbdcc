import { describe, expect, it } from 'vitest';
import { decodeLease, encodeLease, LeaseWatch } from './leases.js';

describe('LeaseWatch', () => {
  /** News every 100 ms in [from, to]. */
  function sights(watch: LeaseWatch, from: number, to: number): void {
    for (let now = from; now <= to; now += 100) watch.sight(now);
  }

  it('ends a lease that was not renewed for its whole length', () => {
    const watch = new LeaseWatch(1000, 500);
    sights(watch, 0, 900);
    watch.see('a', 7, 0);
    expect(watch.ended('a', 7, 999)).toBe(false);
    sights(watch, 1000, 1000);
    expect(watch.ended('a', 7, 1000)).toBe(true);
  });

  it('counts anew from every renewal, and never from an older one seen again', () => {
    const watch = new LeaseWatch(1000, 500);
    sights(watch, 0, 1500);
    watch.see('a', 7, 0);
    watch.see('a', 8, 800);
    watch.see('a', 7, 1400);
    expect(watch.ended('a', 7, 1500)).toBe(false);
    expect(watch.ended('a', 8, 1500)).toBe(false);
    sights(watch, 1600, 1800);
    expect(watch.ended('a', 8, 1800)).toBe(true);
  });

  it('of which the servers lost what was newer ends all the same, a whole length after that shows', () => {
    const watch = new LeaseWatch(1000, 500);
    sights(watch, 0, 3000);
    watch.see('a', 8, 0);
    for (let now = 1500; now < 2500; now += 100) watch.see('a', 6, now);
    expect(watch.ended('a', 6, 2499)).toBe(false);
    expect(watch.ended('a', 6, 2500)).toBe(true);
    // Its owner goes on from there.
    watch.see('a', 7, 2600);
    expect(watch.ended('a', 7, 3000)).toBe(false);
  });

  it('ends nothing that it never saw', () => {
    const watch = new LeaseWatch(1000, 500);
    sights(watch, 0, 5000);
    expect(watch.ended('a', 1, 5000)).toBe(false);
  });

  it('ends nothing while it sees nothing, and counts from when it sees again', () => {
    const watch = new LeaseWatch(1000, 500);
    sights(watch, 0, 300);
    watch.see('a', 7, 300);
    expect(watch.ended('a', 7, 5000)).toBe(false);
    // Sight is back, and the owner may have renewed all the while: it gets a whole lease more.
    sights(watch, 5000, 5900);
    expect(watch.ended('a', 7, 5900)).toBe(false);
    sights(watch, 6000, 6000);
    expect(watch.ended('a', 7, 6000)).toBe(true);
  });
});

describe('lease records', () => {
  it('come back as they were', () => {
    for (const record of [
      { owner: 'n1', epoch: 3, beat: 9 },
      { epoch: 3, beat: 9 },
    ]) {
      expect(decodeLease(encodeLease(record))).toEqual(record);
    }
  });

  it('are not read out of anything else', () => {
    for (const text of ['', 'x', '{}', '{"epoch":"1","beat":2}']) expect(decodeLease(text)).toBeUndefined();
  });
});
