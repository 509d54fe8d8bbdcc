import { describe, expect, it } from 'vitest';
import { World } from './world.js';

const SEEDS = Number(process.env['POLYMQ_SIMULATION_SEEDS'] ?? 100);
const FIRST_SEED = Number(process.env['POLYMQ_SIMULATION_SEED'] ?? 1);

/** Every second seed, so that two files share the work of two cores. */
export function simulationOfSeeds(half: 0 | 1): void {
  const seeds = Array.from({ length: SEEDS }, (_, i) => FIRST_SEED + i).filter((_, i) => i % 2 === half);

  describe.skipIf(seeds.length === 0)('a cluster in which everything goes wrong', () => {
    it(`keeps its promises, ${seeds.length} seeds`, { timeout: 60_000 + seeds.length * 2_000 }, async () => {
      const total = { confirmed: 0, delivered: 0, owners: 0 };
      for (const seed of seeds) {
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
      expect(total.confirmed).toBeGreaterThan(seeds.length * 5);
      expect(total.delivered).toBeGreaterThan(seeds.length * 5);
      expect(total.owners).toBeGreaterThanOrEqual(seeds.length);
    });
  });
}
