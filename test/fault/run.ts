// `npm run fault -- --kills 1000 --seed 7 --lanes 2 --only sqs,amqp`: the kill test by hand, as long as you like.
import { parseArgs } from 'node:util';
import { runKills } from './kills.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', default: '' },
    // Brokers killed side by side, each with a seed of its own: most of a kill's time is waiting for leases to end.
    lanes: { type: 'string', default: '1' },
  },
});
const only = values.only.split(',').filter((name) => name !== '');
const lanes = Number(values.lanes);
const kills = Math.ceil(Number(values.kills) / lanes);
await Promise.all(
  Array.from({ length: lanes }, async (_, lane) => {
    const seed = Number(values.seed) + lane;
    const log = (line: string): void => console.log(`seed ${seed}: ${line}`);
    log(`${kills} kills`);
    log(await runKills({ kills, seed, only, log, keepStore: true }));
  }),
);
