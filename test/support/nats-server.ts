import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { temporaryFolder } from './folder.js';
import { program } from './foreign.js';
import { freePorts } from './free-port.js';

/** Why tests with a real NATS server cannot run here, or undefined. */
export const natsMissing: string | undefined =
  program('nats-server') === undefined ? 'nats-server is not installed' : undefined;

const READY_TIMEOUT_MS = 30_000;

export interface NatsOptions {
  /** One process, or a cluster of three. */
  readonly servers?: 1 | 3;
  /** More lines of configuration, for every server. */
  readonly config?: string;
  /** Client options a connection needs, when `config` asks for credentials or TLS. */
  readonly client?: Parameters<typeof connect>[0];
}

export interface NatsServers {
  /** Comma separated, as `NATS_URL` takes them. */
  readonly url: string;
  /** Names of the servers: `n0`, `n1`, `n2`. */
  readonly names: readonly string[];
  signal(index: number, signal: NodeJS.Signals): void;
  /** SIGKILL, and waits for the end. */
  kill(index: number): Promise<void>;
  /** Starts a killed one again, on its port and folder. */
  restart(index: number): Promise<void>;
  stop(): Promise<void>;
}

interface Node {
  readonly name: string;
  readonly port: number;
  readonly configFile: string;
  process: ChildProcess | undefined;
  output: string;
}

const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Starts Debian's nats-server with JetStream on loopback, ports from the system, data in a temporary folder. */
export async function startNats(options: NatsOptions = {}): Promise<NatsServers> {
  const { servers = 1, config = '' } = options;
  const folder = temporaryFolder();
  const ports = await freePorts(servers * 2);
  const routes = ports.slice(servers).map((port) => `nats-route://127.0.0.1:${port}`);
  const nodes: Node[] = Array.from({ length: servers }, (_, i) => {
    const name = `n${i}`;
    const configFile = join(folder.path, `${name}.conf`);
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${ports[i]}"`,
      `jetstream { store_dir: "${join(folder.path, name)}" }`,
      config,
    ];
    if (servers > 1) {
      lines.push(
        `cluster { name: tests, listen: "127.0.0.1:${ports[servers + i]}", routes: [${routes.join(', ')}] }`,
      );
    }
    writeFileSync(configFile, lines.join('\n'));
    return { name, port: ports[i] as number, configFile, process: undefined, output: '' };
  });
  const kill = async (index: number): Promise<void> => {
    const child = nodes[index]?.process;
    if (child === undefined) return;
    (nodes[index] as Node).process = undefined;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((_, i) => kill(i)));
    folder.remove();
  };
  for (const node of nodes) launch(node);
  const url = nodes.map((node) => `127.0.0.1:${node.port}`).join(',');
  try {
    await ready(url, nodes, options.client);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    names: nodes.map((node) => node.name),
    signal: (index, signal) => void nodes[index]?.process?.kill(signal),
    kill,
    restart: async (index) => {
      await kill(index);
      launch(nodes[index] as Node);
    },
    stop,
  };
}

function launch(node: Node): void {
  const child = spawn('nats-server', ['-c', node.configFile], { stdio: ['ignore', 'ignore', 'pipe'] });
  living.add(child);
  child.once('close', () => living.delete(child));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    node.output = (node.output + text).slice(-4000);
  });
  node.process = child;
}

/** JetStream answers: a cluster has chosen its leader. */
async function ready(url: string, nodes: readonly Node[], client: NatsOptions['client']): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    try {
      const nc = await connect({ ...client, servers: url.split(','), timeout: 2000, reconnect: false });
      try {
        await (await jetstreamManager(nc, { timeout: 2000 })).getAccountInfo();
        return;
      } finally {
        await nc.close();
      }
    } catch (error) {
      if (performance.now() > deadline || nodes.some((node) => node.process?.exitCode !== null)) {
        const output = nodes.map((node) => node.output).join('\n');
        throw new Error(`nats-server did not get ready: ${String(error)}\n${output}`, { cause: error });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
