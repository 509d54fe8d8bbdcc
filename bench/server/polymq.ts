import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ACCESS_KEY, SECRET_KEY } from '../client/sigv4.js';
import { Child, SERVER_CORE } from '../harness/process.js';
import { PRODUCT_FLAGS, REPOSITORY, workFolder } from '../harness/paths.js';
import type { Contender, Server } from './server.js';

const MAIN = join(REPOSITORY, 'dist', 'app', 'main.js');

/** The product as built, every connector on, the store on disk with a sync of every commit. */
export const polymq: Contender = {
  name: 'polymq',
  absent: () => (existsSync(MAIN) ? undefined : 'the product is not built: npm run build'),
  start: () => start(['--all']),
};

/** The same, and SQS and SNS take nothing that the generator's key did not sign. */
export const polymqSigned: Contender = {
  ...polymq,
  name: 'polymq-signed',
  start: () => start(['--all'], { CONNECTORS_AWS_CREDENTIALS: `${ACCESS_KEY}=${SECRET_KEY}` }),
};

/** The same as a server of AMQP alone. */
export const polymqAmqpOnly: Contender = {
  ...polymq,
  name: 'polymq-amqp',
  start: () => start(['--connectors-amqp-enable']),
};

async function start(
  connectors: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const folder = workFolder('polymq');
  const env = {
    POLYMQ_HOST: '127.0.0.1',
    STORE_PATH: join(folder, 'store'),
    STORE_SYNC: 'always',
    CONNECTORS_AWS_PORT: '0',
    CONNECTORS_PUB_SUB_PORT: '0',
    CONNECTORS_AMQP_PORT: '0',
    GRPC_PORT: '0',
    REST_PORT: '0',
    API_PORT: '0',
    LOG_FORMAT: 'json',
    ...settings,
  };
  const args = [...PRODUCT_FLAGS, MAIN, 'serve', ...connectors];
  const child = new Child({ command: process.execPath, args, core: SERVER_CORE, env, cwd: folder });
  const [line] = await child.says(/^.*"message":"ready".*$/m);
  return {
    pid: child.pid,
    ports: readPorts(line),
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ports by listener, from the `ready` line. */
function readPorts(readyLine: string): Readonly<Record<string, number>> {
  const { addresses } = JSON.parse(readyLine) as { addresses: Readonly<Record<string, string>> };
  return Object.fromEntries(
    Object.entries(addresses).map(([name, address]) => [
      name,
      Number(address.slice(address.lastIndexOf(':') + 1)),
    ]),
  );
}
