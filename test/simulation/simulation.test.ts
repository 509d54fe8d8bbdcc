import { describe, expect, it } from 'vitest';
import { BUGS, type Bug } from './bugs.js';
import { World } from './world.js';

const SEEDS = Number(process.env['POLYMQ_SIMULATION_SEEDS'] ?? 100);
const FIRST_SEED = Number(process.env['POLYMQ_SIMULATION_SEED'] ?? 1);
/** Seeds in which a planted mistake has to show. */
const SEEDS_OF_A_BUG = 400;
/** A rare one is looked for where it shows, so that the search is short. */
const FIRST_SEED_OF_A_BUG: Partial<Record<Bug, number>> = { 'no-fencing-of-checkpoints': 110 };

describe('a cluster in which everything goes wrong', () => {
  it(`keeps its promises, ${SEEDS} seeds`, { timeout: 60_000 + SEEDS * 500 }, async () => {
    const total = { confirmed: 0, delivered: 0, owners: 0 };
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      try {
        const { confirmed, delivered, owners } = await new World({ seed }).run();
        total.confirmed += confirmed;
        total.delivered += delivered;
        total.owners += owners.size;
      } catch (error) {
        const again = `POLYMQ_SIMULATION_SEED=${seed} POLYMQ_SIMULATION_SEEDS=1`;
        throw new Error(`seed ${seed} (${again} runs it alone)`, { cause: error });
      }
    }
    // Trouble that lets nothing through would find nothing.
    expect(total.confirmed).toBeGreaterThan(SEEDS * 5);
    expect(total.delivered).toBeGreaterThan(SEEDS * 5);
    expect(total.owners).toBeGreaterThan(SEEDS * 2);
  });

  it('has the same history for the same seed', async () => {
    const run = async (): Promise<readonly [string, readonly string[]]> => {
      const lines: string[] = [];
      const history = await new World({ seed: 7, tell: (line) => lines.push(line) }).run();
      return [history.toString(), lines];
    };
    expect(await run()).toEqual(await run());
  });

  it.each(BUGS)('finds a planted mistake: %s', { timeout: 120_000 }, async (bug) => {
    const first = FIRST_SEED_OF_A_BUG[bug] ?? 1;
    for (let seed = first; seed < first + SEEDS_OF_A_BUG; seed++) {
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
