// `npm run fault -- --kills 1000 --seed 7 --only sqs,amqp`: the kill test by hand, as long as you like.
import { parseArgs } from 'node:util';
import { runKills } from './kills.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', default: '' },
  },
});
const only = values.only.split(',').filter((name) => name !== '');
console.log(`seed ${values.seed}`);
const options = { kills: Number(values.kills), seed: Number(values.seed), only };
console.log(await runKills({ ...options, log: (line) => console.log(line) }));
