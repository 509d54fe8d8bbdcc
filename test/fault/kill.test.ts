import { describe, expect, it } from 'vitest';
import { runKills } from './kills.js';

const KILLS = 30;
/** Another one each day, the same all day: a failure in CI can be repeated at once, and time widens the search. */
const SEED = Number(process.env['FAULT_SEED'] ?? Math.floor(Date.now() / 86_400_000));

describe('killed at a random moment', () => {
  it(`loses nothing that was confirmed (seed ${SEED})`, { timeout: 600_000 }, async () => {
    const summary = await runKills({ kills: KILLS, seed: SEED });
    console.log(`${KILLS} kills, seed ${SEED}: ${summary}`);
    expect(summary).not.toBe('');
  });
});
