import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child, findProgram, freePort, listening, SERVER_CORE } from '../harness/process.js';
import { workFolder } from '../harness/paths.js';
import type { Contender, Server } from './server.js';

/** The script itself: the one on the search path changes the user when it is root's. */
const SCRIPT = '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** RabbitMQ as shipped, without plugins, in a folder and on ports of its own. */
export const rabbitmq: Contender = {
  name: 'rabbitmq',
  absent: () => (existsSync(SCRIPT) ? undefined : 'rabbitmq-server is not installed'),
  start,
};

async function start(): Promise<Server> {
  const folder = workFolder('rabbitmq');
  const [port, distribution, mapper] = [await freePort(), await freePort(), await freePort()];
  for (const name of ['home', 'data', 'log']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'plugins'), '[].\n');
  const env = {
    HOME: join(folder, 'home'),
    ERL_EPMD_PORT: String(mapper),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `bench${String(port)}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
  };
  const child = new Child({ command: SCRIPT, args: [], core: SERVER_CORE, env });
  await listening(port, child);
  // It listens a little before its boot steps are over.
  await child.says(/completed with|Starting broker\.\.\. completed/);
  return {
    pid: child.pid,
    ports: { amqp: port },
    stop: async () => {
      await child.stop();
      // The name service that the node started outlives it.
      const epmd = findProgram('epmd');
      if (epmd !== undefined)
        spawnSync(epmd, ['-port', String(mapper), '-kill'], { env: { ...process.env, ...env } });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
