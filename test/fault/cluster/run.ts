// `npm run fault:cluster -- --rounds 100 --seed 7 --faults kill-owner,cut-owner`: a cluster in network namespaces, as long as you like.
import { parseArgs } from 'node:util';
import { natsMissing } from '../../support/nats-server.js';
import { runClusterFaults } from './exercise.js';
import { networkMissing } from './network.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '28' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    faults: { type: 'string', default: '' },
  },
});
const missing = networkMissing ?? natsMissing;
if (missing !== undefined) {
  console.error(missing);
  process.exit(1);
}
// Namespaces and programs go when this process ends in an orderly way.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const seed = Number(values.seed);
console.log(`seed ${seed}`);
await runClusterFaults({
  rounds: Number(values.rounds),
  seed,
  faults: values.faults.split(',').filter((name) => name !== ''),
  log: (line) => console.log(line),
});
