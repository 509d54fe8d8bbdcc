// `npm run fuzz:aws -- --requests 1000000 --seed 7`: requests made at random, in portions, to brokers in processes of their own.
import { parseArgs } from 'node:util';
import { residentMiB } from '../../../bench/harness/cpu.js';
import { temporaryFolder } from '../../support/folder.js';
import { spawnBroker, type BrokerProcess } from '../../support/process.js';
import { CREDENTIALS } from './aws-server.js';
import { FUZZ_PROPERTIES } from './fuzz-properties.js';
import { FuzzTarget } from './fuzz-target.js';

/*
 * What a portion finds is printed with its seed, and the next one goes on: a million requests take their time, and are not to be
 * made again for the sake of one. Memory is looked at after each portion, when what it made was deleted.
 */
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    portion: { type: 'string', default: '10000' },
  },
});
const [total, seed, portion] = [values.requests, values.seed, values.portion].map(Number) as [
  number,
  number,
  number,
];
/** Portions until caches are full and compiled code stays as it is. */
const WARM_PORTIONS = 5;
/** What memory may grow by behind those: a hundred bytes a request would be more. */
const GROWTH_MIB_MAX = 80;

const folders = [temporaryFolder(), temporaryFolder()];
const environment = {
  CONNECTORS_AWS_WEBHOOK_ALLOW: '198.51.100.0/24',
  STORE_SYNC: 'interval',
};
const broker = async (place: 0 | 1, more: Record<string, string> = {}): Promise<BrokerProcess> =>
  spawnBroker({
    folder: folders[place]?.path ?? '',
    args: ['--connectors-aws-enable'],
    environment: { ...environment, ...more },
  });
const open = await broker(0);
const closed = await broker(1, {
  CONNECTORS_AWS_CREDENTIALS: `${CREDENTIALS.accessKeyId}=${CREDENTIALS.secretAccessKey}`,
});
const targets = {
  open: new FuzzTarget(`http://127.0.0.1:${open.port('aws')}`),
  closed: new FuzzTarget(`http://127.0.0.1:${closed.port('aws')}`),
};
let [made, failures, warmMiB] = [0, 0, 0];
const isAlive = { open: true, closed: true };
void open.exited.then(() => (isAlive.open = false));
void closed.exited.then(() => (isAlive.closed = false));

for (let number = 0; made < total && isAlive.open && isAlive.closed; number++) {
  const numRuns = Math.ceil(Math.min(portion, total - made) / FUZZ_PROPERTIES.length);
  try {
    await targets.open.makeAnew();
    for (const { name, check } of FUZZ_PROPERTIES) {
      try {
        await check(targets, { numRuns, seed: seed + number });
      } catch (error) {
        failures++;
        console.log(`FAILED with seed ${seed + number}: requests ${name}\n${String(error)}`);
      }
    }
    await targets.open.cleanUp();
  } catch (error) {
    failures++;
    console.log(`FAILED with seed ${seed + number}: ${String(error)}`);
  }
  made += numRuns * FUZZ_PROPERTIES.length;
  const [ofOpen, ofClosed] = [residentMiB(open.pid), residentMiB(closed.pid)];
  if (number + 1 === WARM_PORTIONS) warmMiB = ofOpen + ofClosed;
  console.log(
    `${made} requests, seed ${seed + number}: ${ofOpen.toFixed(0)} and ${ofClosed.toFixed(0)} MiB, ${failures} failures`,
  );
}
const grown = warmMiB === 0 ? 0 : residentMiB(open.pid) + residentMiB(closed.pid) - warmMiB;
const isWhole = isAlive.open && isAlive.closed;
const logged = [...open.lines, ...closed.lines].filter(({ level }) => level === 'error');
console.log(
  `${made} requests: ${failures} failures, ${logged.length} errors in the log, ` +
    `${isWhole ? 'both brokers live' : 'A BROKER ENDED'}, ${grown.toFixed(0)} MiB more than after ${WARM_PORTIONS} portions`,
);
for (const line of logged.slice(0, 10)) console.log(JSON.stringify(line));
for (const target of Object.values(targets)) target.close();
await Promise.all([open.kill('SIGTERM'), closed.kill('SIGTERM')]);
for (const folder of folders) folder.remove();
process.exitCode = failures === 0 && isWhole && logged.length === 0 && grown < GROWTH_MIB_MAX ? 0 : 1;
