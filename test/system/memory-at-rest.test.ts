import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.js';
import type { BrokerProcess } from '../support/process.js';
import { programArguments, spawnBroker } from '../support/process.js';

/** Told to, says how large the young generation is, in KiB, then keeps much alive for a while and says it again. */
const WATCH = `
import { getHeapSpaceStatistics } from 'node:v8';
const size = () => getHeapSpaceStatistics().find((one) => one.space_name === 'new_space').space_size / 1024;
process.on('SIGUSR2', () => {
  const before = size();
  const held = [];
  for (let i = 0; i < 2_000_000; i++) held[i % 200_000] = { i };
  console.error('young ' + before + ' ' + size());
});`;

const built =
  existsSync(join(import.meta.dirname, '../../dist/app/main.js')) && programArguments().length === 1;

let folder: ReturnType<typeof temporaryFolder>;
let broker: BrokerProcess;
beforeEach(async () => {
  folder = temporaryFolder();
  broker = await spawnBroker({
    folder: folder.path,
    args: ['--connectors-amqp-enable'],
    nodeFlags: ['--max-semi-space-size=32', '--import', `data:text/javascript,${encodeURIComponent(WATCH)}`],
  });
});
afterEach(async () => {
  await broker.kill();
  folder.remove();
});

// From the sources, the compiler that runs before the program has grown it already.
it.skipIf(!built)('the start does not grow the young generation, use does', async () => {
  process.kill(broker.pid, 'SIGUSR2');
  const said = /young (\d+) (\d+)/;
  await expect.poll(broker.errorOutput, { timeout: 20_000 }).toMatch(said);
  const [, atRest, used] = said.exec(broker.errorOutput()) ?? [];
  expect(Number(atRest)).toBeLessThanOrEqual(2048);
  expect(Number(used)).toBeGreaterThan(8192);
});
