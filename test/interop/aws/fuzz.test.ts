import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CREDENTIALS, startAwsServer, type AwsServer } from './aws-server.js';
import { FUZZ_PROPERTIES } from './fuzz-properties.js';
import { FuzzTarget } from './fuzz-target.js';

/*
 * Whatever is sent, the answer is one of the protocol's own: never a failure of the server, never silence, and nothing is left
 * behind. Each of the five kinds is tried FUZZ_RUNS times; FUZZ_SEED repeats what was printed. For a million of them there is
 * `fuzz-run.ts`.
 */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 200);
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** More than caches that are full take, less than a million requests that leave a hundred bytes each. */
const HEAP_GROWTH_BYTES_MAX = 48 * 1024 * 1024;

let servers: readonly [AwsServer, AwsServer];
let open: FuzzTarget;
let closed: FuzzTarget;
let heapBefore = 0;

beforeAll(async () => {
  console.log(`FUZZ_SEED=${SEED}`);
  // Nobody is called: the one network that is allowed is set aside for documentation.
  const config = { webhookAllow: '198.51.100.0/24' };
  servers = [
    await startAwsServer({ config }),
    await startAwsServer({ config: { ...config, credentials: [{ ...CREDENTIALS }] } }),
  ];
  open = new FuzzTarget(servers[0].url);
  closed = new FuzzTarget(servers[1].url);
  await open.makeAnew();
  await open.cleanUp();
  heapBefore = heapUsed();
  await open.makeAnew();
});
afterAll(async () => {
  open.close();
  closed.close();
  for (const server of servers) await server.stop();
});

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

describe('requests made at random', () => {
  it.each(FUZZ_PROPERTIES)('$name', { timeout: 0 }, ({ check }) =>
    check({ open, closed }, { numRuns: RUNS, seed: SEED }),
  );

  it('leave the server as it was', { timeout: 0 }, async () => {
    await open.makeAnew();
    const { text } = await open.json('SendMessage', { QueueUrl: 'q', MessageBody: 'still here' });
    expect(text).toContain('MessageId');
    await open.cleanUp();
    for (const { connector } of servers) {
      const { connections, counters } = connector.status();
      expect(connections).toBeLessThan(100);
      expect(counters['waiting_receives']).toBe(0);
    }
    const grown = heapUsed() - heapBefore;
    console.log(`heap: ${(grown / 1024 / 1024).toFixed(1)} MiB more than before`);
    expect(grown).toBeLessThan(HEAP_GROWTH_BYTES_MAX);
  });
});
