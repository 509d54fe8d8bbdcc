import { describe, expect, it } from 'vitest';
import { natsMissing } from '../../support/nats-server.js';
import { runClusterFaults } from './exercise.js';
import { networkMissing } from './network.js';

const missing = networkMissing ?? natsMissing;
const FAULTS = ['kill-owner', 'cut-owner', 'kill-nats-leader'];
/** Another one each day, the same all day. */
const SEED = Number(process.env['FAULT_SEED'] ?? Math.floor(Date.now() / 86_400_000));

describe.skipIf(missing !== undefined)(
  `a cluster in network namespaces${missing ? `: ${missing}` : ''}`,
  () => {
    it(
      `keeps what it promised when its parts die or lose their network (seed ${SEED})`,
      { timeout: 400_000 },
      async () => {
        const lines = await runClusterFaults({
          rounds: FAULTS.length,
          seed: SEED,
          faults: FAULTS,
        });
        console.log(lines.join('\n'));
        expect(lines).toHaveLength(FAULTS.length + 1);
      },
    );
  },
);
