import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child, findProgram, freePort, listening, SERVER_CORE } from '../harness/process.js';
import { workFolder } from '../harness/paths.js';
import type { Contender, Server } from './server.js';

/** NATS with JetStream as shipped, streams in files. It does not sync what it acknowledges. */
export const nats: Contender = {
  name: 'nats',
  absent: () => (findProgram('nats-server') === undefined ? 'nats-server is not installed' : undefined),
  start,
};

async function start(): Promise<Server> {
  const folder = workFolder('nats');
  const port = await freePort();
  const file = join(folder, 'nats.conf');
  writeFileSync(
    file,
    `listen: "127.0.0.1:${String(port)}"\njetstream { store_dir: "${join(folder, 'store')}" }\n`,
  );
  const command = findProgram('nats-server') ?? 'nats-server';
  const child = new Child({ command, args: ['-c', file], core: SERVER_CORE });
  await listening(port, child);
  return {
    pid: child.pid,
    // For whatever of our wires it is compared with.
    ports: { 'native-grpc': port },
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
