import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRODUCT_FLAGS, REPOSITORY, workFolder } from '../harness/paths.js';
import { Child, findProgram, freePort, listening } from '../harness/process.js';
import type { Contender, Server } from './server.js';

const MAIN = join(REPOSITORY, 'dist', 'app', 'main.js');
const SERVERS = 3;

/** Three NATS servers with JetStream; nobody is pinned to a core: there are more processes than cores. */
interface Nats {
  readonly ports: readonly number[];
  readonly pid: number;
  readonly folder: string;
  stop(): Promise<void>;
}

async function startNats(): Promise<Nats> {
  const folder = workFolder('cluster');
  const ports: number[] = [];
  for (let i = 0; i < SERVERS * 2; i++) ports.push(await freePort());
  const routes = ports.slice(SERVERS).map((port) => `nats-route://127.0.0.1:${String(port)}`);
  const children: Child[] = [];
  for (let i = 0; i < SERVERS; i++) {
    const file = join(folder, `n${String(i)}.conf`);
    const lines = [
      `server_name: n${String(i)}`,
      `listen: "127.0.0.1:${String(ports[i])}"`,
      `jetstream { store_dir: "${join(folder, `n${String(i)}`)}" }`,
      `cluster { name: bench, listen: "127.0.0.1:${String(ports[SERVERS + i])}", routes: [${routes.join(', ')}] }`,
    ];
    writeFileSync(file, lines.join('\n'));
    children.push(new Child({ command: findProgram('nats-server') ?? 'nats-server', args: ['-c', file] }));
  }
  for (const [i, child] of children.entries()) {
    await listening(ports[i] ?? 0, child);
    await child.says(/JetStream cluster new metadata leader|Self is new JetStream cluster metadata leader/);
  }
  return {
    ports: ports.slice(0, SERVERS),
    pid: children[0]?.pid ?? 0,
    folder,
    stop: async () => {
      await Promise.all(children.map((child) => child.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function absent(): string | undefined {
  if (findProgram('nats-server') === undefined) return 'nats-server is not installed';
  return existsSync(MAIN) ? undefined : 'the product is not built: npm run build';
}

/** JetStream alone with three replicas, which it does not sync. */
export const natsCluster: Contender = {
  name: 'nats-r3',
  absent,
  start: async () => {
    const nats = await startNats();
    return { pid: nats.pid, ports: { amqp: nats.ports[0] ?? 0 }, stop: () => nats.stop() };
  },
};

/** The owner of a cluster of two nodes. */
export const clusterOwner: Contender = { name: 'cluster-owner', absent, start: () => startCluster('owner') };

/** The other node, which forwards to the owner. */
export const clusterOther: Contender = { name: 'cluster-other', absent, start: () => startCluster('other') };

async function startCluster(asked: 'owner' | 'other'): Promise<Server> {
  const nats = await startNats();
  const env = {
    POLYMQ_HOST: '127.0.0.1',
    STORE_ENGINE: 'nats',
    NATS_URL: nats.ports.map((port) => `127.0.0.1:${String(port)}`).join(','),
    NATS_REPLICAS: String(SERVERS),
    CONNECTORS_AWS_PORT: '0',
    CONNECTORS_PUB_SUB_PORT: '0',
    CONNECTORS_AMQP_PORT: '0',
    GRPC_PORT: '0',
    REST_PORT: '0',
    API_PORT: '0',
    LOG_FORMAT: 'json',
  };
  const args = [...PRODUCT_FLAGS, MAIN, 'serve', '--all'];
  const node = (): Child => new Child({ command: process.execPath, args, env, cwd: nats.folder });
  const owner = node();
  const [ready] = await owner.says(/^.*"message":"ready".*$/m);
  const other = node();
  const [standby] = await other.says(/^.*"message":"standby".*$/m);
  const served = asked === 'owner' ? owner : other;
  return {
    pid: owner.pid,
    ports: portsIn(served === owner ? ready : standby),
    stop: async () => {
      await other.stop();
      await owner.stop();
      await nats.stop();
    },
  };
}

function portsIn(line: string): Readonly<Record<string, number>> {
  const { addresses } = JSON.parse(line) as { addresses: Readonly<Record<string, string>> };
  const entries = Object.entries(addresses);
  return Object.fromEntries(
    entries.map(([name, address]) => [name, Number(address.slice(address.lastIndexOf(':') + 1))]),
  );
}
