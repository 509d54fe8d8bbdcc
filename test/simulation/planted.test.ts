import { describe, expect, it } from 'vitest';
import { BUGS } from './bugs.js';
import { World } from './world.js';

/** Seeds in which a planted mistake has to show. */
const SEEDS_OF_A_BUG = 400;

describe('the simulation of a cluster', () => {
  it('has the same history for the same seed', async () => {
    const run = async (): Promise<readonly [string, readonly string[]]> => {
      const lines: string[] = [];
      const history = await new World({ seed: 7, tell: (line) => lines.push(line) }).run();
      return [history.toString(), lines];
    };
    expect(await run()).toEqual(await run());
  });

  it.each(BUGS)('finds a planted mistake: %s', { timeout: 120_000 }, async (bug) => {
    for (let seed = 1; seed <= SEEDS_OF_A_BUG; seed++) {
      try {
        await new World({ seed, bug }).run();
      } catch (error) {
        expect(error).toHaveProperty('name', expect.stringMatching(/^(Violation|BrokerError)$/));
        console.log(`${bug}: seed ${seed}: ${String(error)}`);
        return;
      }
    }
    expect.fail(`${bug} was not found in ${SEEDS_OF_A_BUG} seeds`);
  });
});
