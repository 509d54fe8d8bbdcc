// `npm run test:cluster`: the suites with clients against a cluster on three NATS servers. Every connection comes to the node that
// owns nothing (`test/support/cluster.ts`). Arguments go to vitest; without any: what runs unchanged there.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { natsMissing, startNats } from '../test/support/nats-server.js';

const root = join(import.meta.dirname, '..');
const DEFAULT_PATHS = ['test/interop', 'test/cross'];

if (natsMissing !== undefined) {
  console.log(`skipped: ${natsMissing}`);
  process.exit(0);
}
const nats = await startNats({ servers: 3 });
const given = process.argv.slice(2);
const run = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...(given.length > 0 ? given : DEFAULT_PATHS)],
  {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],

    env: { ...process.env, POLYMQ_TEST_CLUSTER: nats.url },
  },
);
await nats.stop();
process.exit(run.status ?? 1);
