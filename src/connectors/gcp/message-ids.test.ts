import { expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { SeededIds } from '../../base/ids.js';
import { MessageIds } from './message-ids.js';

it('message ids have 17 digits and rise, also when the clock stands or goes back', () => {
  const clock = new ManualClock(1_700_000_000_000);
  const ids = new MessageIds(clock, new SeededIds(1));
  const minted = Array.from({ length: 5000 }, (_, i) => {
    if (i === 3000) clock.advance(1000);
    return ids.next();
  });
  expect(minted.every((id) => /^\d{17}$/.test(id))).toBe(true);
  expect([...minted].sort()).toEqual(minted);
  expect(new Set(minted).size).toBe(minted.length);
});
