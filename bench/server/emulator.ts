import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Child, findProgram, freePort, listening, SERVER_CORE } from '../harness/process.js';
import { workFolder } from '../harness/paths.js';
import type { Contender, Server } from './server.js';

/** Google's Pub/Sub emulator of the gcloud tools. It keeps everything in memory. */
export const emulator: Contender = {
  name: 'emulator',
  // Its rate rises for some seconds while it compiles.
  warmUpSeconds: 8,
  absent: () => {
    if (findProgram('java') === undefined) return 'java is not installed';
    return findJar() === undefined ? "gcloud's pubsub-emulator is not installed" : undefined;
  },
  start,
};

function findJar(): string | undefined {
  const gcloud = findProgram('gcloud');
  const roots = ['/usr/lib/google-cloud-sdk'];
  if (gcloud !== undefined) roots.push(dirname(dirname(realpathSync(gcloud))));
  for (const root of roots) {
    const folder = join(root, 'platform', 'pubsub-emulator', 'lib');
    const jar = existsSync(folder) ? readdirSync(folder).find((name) => name.endsWith('.jar')) : undefined;
    if (jar !== undefined) return join(folder, jar);
  }
  return undefined;
}

async function start(): Promise<Server> {
  const port = await freePort();
  const folder = workFolder('emulator');
  const jar = findJar() ?? '';
  const args = ['-Xmx4g', '-jar', jar, '--host=127.0.0.1', `--port=${String(port)}`, `--data-dir=${folder}`];
  const child = new Child({ command: 'java', args, core: SERVER_CORE });
  await listening(port, child);
  return {
    pid: child.pid,
    ports: { gcp: port },
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
