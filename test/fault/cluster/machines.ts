import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { temporaryFolder } from '../../support/folder.js';
import { programArguments } from '../../support/process.js';
import { Patience, sleep } from '../exercise.js';
import { Machine } from './machine.js';
import { Network } from './network.js';
import { replicasReport } from './replicas.js';

export const PORTS = {
  api: 8080,
  'native-grpc': 50_000,
  rest: 9090,
  aws: 4566,
  gcp: 8085,
  amqp: 5672,
} as const;
const SERVERS = ['n0', 'n1', 'n2'];
const NODES = ['b0', 'b1', 'b2'];
const CLIENT_PORT = 4222;
const ROUTE_PORT = 6222;
const STREAMS = ['polymq-journal-0', 'polymq-checkpoint-0', 'KV_polymq-cluster'];
const POLL_MS = 50;
const ASK_TIMEOUT_MS = 1_000;

export interface QueueFigures {
  readonly channel: string;
  readonly ready: number;
  readonly delayed: number;
  readonly inFlight: number;
}

/** Three NATS servers and three nodes, each on a machine of its own. */
export class Machines {
  readonly network = new Network([...SERVERS, ...NODES]);
  readonly servers: readonly Machine[];
  readonly nodes: readonly Machine[];
  readonly #folder = temporaryFolder();
  #nats: NatsConnection | undefined;

  constructor() {
    this.servers = SERVERS.map((name) => this.#server(name));
    this.nodes = NODES.map((name) => this.#node(name));
  }

  /** Addresses at which clients find the nodes. */
  get hosts(): readonly string[] {
    return NODES.map((name) => this.network.address(name, 'clients'));
  }

  async start(): Promise<void> {
    for (const server of this.servers) server.start();
    await this.#until('NATS has no leader', () => this.#ask((manager) => manager.getAccountInfo()));
    for (const node of this.nodes) node.start();
    await this.settled();
  }

  async stop(): Promise<void> {
    await this.#nats?.close().catch(() => undefined);
    await Promise.all([...this.nodes, ...this.servers].map((machine) => machine.end()));
    this.network.remove();
    this.#folder.remove();
  }

  /** Everybody is there: an owner, two that follow, and all replicas of the streams. */
  async settled(): Promise<void> {
    await this.#until('a node does not serve', async () => {
      const roles = await Promise.all(this.nodes.map((node) => this.#role(node)));
      return roles.filter((role) => role === 'owner').length === 1 && !roles.includes(undefined);
    });
    await this.#until('a replica does not catch up', () => this.#areReplicasCurrent());
  }

  /** The node that serves. */
  owner(): Promise<Machine> {
    return this.#until('there is no owner', async () => {
      const roles = await Promise.all(this.nodes.map((node) => this.#role(node)));
      return this.nodes[roles.indexOf('owner')];
    });
  }

  async standby(): Promise<Machine> {
    const owner = await this.owner();
    return this.nodes.find((node) => node !== owner) ?? owner;
  }

  /** The server that leads the journal's stream. */
  leader(): Promise<Machine> {
    return this.#until('the journal has no leader', async () => {
      const info = await this.#ask((manager) => manager.streams.info(STREAMS[0] ?? ''));
      return info && this.servers.find(({ name }) => name === info.cluster?.leader);
    });
  }

  /** What the queues hold, by the owner's word. */
  async queues(): Promise<readonly QueueFigures[]> {
    const owner = await this.owner();
    const answer = await fetch(`${this.#api(owner)}/api/v1/queues?limit=1000`);
    return ((await answer.json()) as { queues: readonly QueueFigures[] }).queues;
  }

  /** Why the run cannot go on: a program ended that nobody touched. */
  get crashed(): string | undefined {
    return [...this.nodes, ...this.servers].find(({ crashed }) => crashed !== undefined)?.crashed;
  }

  /** The newest output of every machine, for the message of a failure. */
  get transcript(): string {
    const parts = [...this.nodes, ...this.servers].map(
      ({ name, output }) => `--- ${name}\n${output.slice(-60).join('\n')}`,
    );
    return parts.join('\n');
  }

  /** What the NATS servers hold, likewise. */
  get replicas(): Promise<string> {
    return replicasReport(
      SERVERS.map((name) => ({ name, address: `${this.network.address(name, 'nats')}:${CLIENT_PORT}` })),
    );
  }

  #api(node: Machine): string {
    return `http://${this.network.address(node.name, 'clients')}:${PORTS.api}`;
  }

  /** What a node says that it is; undefined when it does not answer. */
  async #role(node: Machine): Promise<string | undefined> {
    try {
      const options = { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) };
      const ready = await fetch(`${this.#api(node)}/ready`, options);
      const answer = await fetch(`${this.#api(node)}/api/v1/cluster`, options);
      const status = (await answer.json()) as Status;
      const own = status.members.find(({ id }) => id === status.node);
      return ready.status === 200 ? own?.role : undefined;
    } catch {
      return undefined;
    }
  }

  async #areReplicasCurrent(): Promise<boolean> {
    const infos = await this.#ask((manager) =>
      Promise.all(STREAMS.map((name) => manager.streams.info(name))),
    );
    return (
      infos?.every(({ cluster }) => {
        const replicas = cluster?.replicas ?? [];
        return (
          cluster?.leader !== undefined && replicas.length === 2 && replicas.every(({ current }) => current)
        );
      }) ?? false
    );
  }

  async #ask<T>(
    question: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      this.#nats ??= await connect({
        servers: SERVERS.map((name) => `${this.network.address(name, 'nats')}:${CLIENT_PORT}`),
        timeout: ASK_TIMEOUT_MS,
        reconnect: false,
      });
      return await question(await jetstreamManager(this.#nats, { timeout: ASK_TIMEOUT_MS }));
    } catch {
      // A connection of its own each time something was wrong: the server may be the one that is cut off.
      const nats = this.#nats;
      this.#nats = undefined;
      await nats?.close().catch(() => undefined);
      return undefined;
    }
  }

  async #until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    const patience = new Patience();
    for (;;) {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      if (this.crashed !== undefined) throw new Error(`${what}: ${this.crashed}`);
      if (patience.isOver) throw new Error(what);
      await sleep(POLL_MS);
    }
  }

  #server(name: string): Machine {
    const address = this.network.address(name, 'nats');
    const routes = SERVERS.map(
      (other) => `nats-route://${this.network.address(other, 'nats')}:${ROUTE_PORT}`,
    );
    const store = join(this.#folder.path, name);
    mkdirSync(store);
    const file = join(this.#folder.path, `${name}.conf`);
    const lines = [
      `server_name: ${name}`,
      `listen: "${address}:${CLIENT_PORT}"`,
      `jetstream { store_dir: "${store}" }`,
      `cluster { name: faults, listen: "${address}:${ROUTE_PORT}", routes: [${routes.join(', ')}] }`,
    ];
    writeFileSync(file, lines.join('\n'));
    return new Machine(name, [...this.network.on(name), 'nats-server', '-c', file], process.env);
  }

  #node(name: string): Machine {
    const command = [...this.network.on(name), process.execPath, ...programArguments(), 'serve', '--all'];
    const servers = SERVERS.map((server) => `${this.network.address(server, 'nats')}:${CLIENT_PORT}`);
    return new Machine(name, command, {
      ...process.env,
      POLYMQ_HOST: this.network.address(name, 'clients'),
      API_PORT: String(PORTS.api),
      GRPC_PORT: String(PORTS['native-grpc']),
      REST_PORT: String(PORTS.rest),
      CONNECTORS_AWS_PORT: String(PORTS.aws),
      CONNECTORS_PUB_SUB_PORT: String(PORTS.gcp),
      CONNECTORS_AMQP_PORT: String(PORTS.amqp),
      LOG_FORMAT: 'json',
      STORE_ENGINE: 'nats',
      NATS_URL: servers.join(','),
    });
  }
}

interface Status {
  readonly node: string;
  readonly members: readonly { readonly id: string; readonly role: string }[];
}
