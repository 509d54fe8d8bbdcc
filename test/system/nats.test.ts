import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/base/clock.js';
import { runProgram } from '../../src/app/cli/program.js';
import { temporaryFolder } from '../support/folder.js';
import { natsMissing, startNats, type NatsServers } from '../support/nats-server.js';
import { spawnBroker, type BrokerProcess } from '../support/process.js';

const SENDERS = 4;
const QUEUE = 'orders';

/** Sends until it is stopped, to whoever serves; knows what was confirmed. */
class Load {
  readonly confirmed = new Set<string>();
  /** When the last send before now was confirmed, and the longest time without one. */
  longestPauseMs = 0;
  readonly #client: () => SQSClient;
  #isStopped = false;
  #sent = 0;
  #lastAt = performance.now();
  readonly #name: string;
  readonly #senders: Promise<void>[];

  constructor(name: string, client: () => SQSClient) {
    this.#name = name;
    this.#client = client;
    this.#senders = Array.from({ length: SENDERS }, () => this.#send());
  }

  async until(count: number): Promise<void> {
    while (this.confirmed.size < count) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#senders);
  }

  async #send(): Promise<void> {
    while (!this.#isStopped) {
      const body = `${this.#name}-${this.#sent++}`;
      try {
        await this.#client().send(new SendMessageCommand({ QueueUrl: QUEUE, MessageBody: body }));
        const now = performance.now();
        this.longestPauseMs = Math.max(this.longestPauseMs, now - this.#lastAt);
        this.#lastAt = now;
        this.confirmed.add(body);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

const clients = new Map<number, SQSClient>();

/** The port that the node named last. */
function portOf(broker: BrokerProcess, listener: string): number {
  const line = broker.lines.findLast(({ addresses }) => addresses !== undefined);
  const addresses = line?.['addresses'] as Readonly<Record<string, string>>;
  return Number(addresses[listener]?.split(':').at(-1));
}

/** A client of the port that the node named last: a node that begins again has new ones. */
function clientOf(broker: BrokerProcess): SQSClient {
  const port = portOf(broker, 'aws');
  const client = clients.get(port) ?? newClient(port);
  clients.set(port, client);
  return client;
}

function newClient(port: number): SQSClient {
  return new SQSClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    maxAttempts: 1,
    useQueueUrlAsEndpoint: false,
    requestHandler: { requestTimeout: 3000 },
  });
}

/** Takes everything out of the queue. */
async function drain(client: SQSClient): Promise<Set<string>> {
  const found = new Set<string>();
  const take = async (): Promise<void> => {
    for (;;) {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({ QueueUrl: QUEUE, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
      );
      if (Messages.length === 0) return;
      for (const { Body = '' } of Messages) found.add(Body);
      const entries = Messages.map(({ ReceiptHandle }, i) => ({ Id: `${i}`, ReceiptHandle }));
      await client.send(new DeleteMessageBatchCommand({ QueueUrl: QUEUE, Entries: entries }));
    }
  };
  await Promise.all(Array.from({ length: 8 }, take));
  return found;
}

/** Runs a command in this process; what it printed. */
async function runCli(args: readonly string[]): Promise<string> {
  let printed = '';
  const code = await runProgram(args, {
    environment: {},
    out: (text) => (printed += text),
    error: (text) => (printed += text),
    interactive: false,
    input: () => process.stdin,
    clock: new SystemClock(),
  });
  expect(code, printed).toBe(0);
  return printed;
}

describe.skipIf(natsMissing !== undefined)('nodes on three NATS servers', () => {
  let nats: NatsServers;
  const folder = temporaryFolder();
  const nodes: BrokerProcess[] = [];
  beforeAll(async () => {
    nats = await startNats({ servers: 3 });
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await nats.stop();
    folder.remove();
  });

  async function node(line: 'ready' | 'standby'): Promise<BrokerProcess> {
    const started = await spawnBroker({
      folder: folder.path,
      line,
      args: [],
      environment: {
        STORE_ENGINE: 'nats',
        NATS_URL: nats.url,
        CONNECTORS_AWS_ENABLE: 'true',
        GRPC_ENABLE: 'true',
      },
    });
    nodes.push(started);
    return started;
  }

  /** Whether the node is the owner and its connectors are there. */
  function serves(broker: BrokerProcess): boolean {
    return broker.lines.some((line) => line['message'] === 'ready');
  }

  /** Unix time in ms at which the node became the owner, by its log. */
  function whenOwner(broker: BrokerProcess): number {
    const line = broker.lines.findLast((one) => one['message'] === 'this node is the owner');
    return line === undefined ? 0 : Date.parse(String(line['time']));
  }

  /** Unix time in ms at which the node had given everything back, by its log. */
  function stoppedWallMs(broker: BrokerProcess): number {
    return Date.parse(String(broker.lines.findLast((one) => one['message'] === 'stopped')?.['time']));
  }

  /** Index of the server that leads the journal's stream. */
  async function leader(): Promise<number> {
    const nc = await connect({ servers: nats.url.split(',') });
    try {
      const info = await (await jetstreamManager(nc)).streams.info('polymq-journal-0');
      return nats.names.indexOf(info.cluster?.leader ?? '');
    } finally {
      await nc.close();
    }
  }

  it('serves through every node, moves on when the owner is killed, says goodbye, or a NATS server is killed, and loses nothing confirmed', async ({
    onTestFailed,
  }) => {
    let stage = 'the start';
    // Which of the waits did not end, and what the nodes said last.
    onTestFailed(() => {
      const said = nodes.map(({ lines }, i) => `node ${i + 1}: ${JSON.stringify(lines.slice(-8), null, 1)}`);
      console.error(`it failed during ${stage}\n${said.join('\n')}`);
    });
    const first = await node('ready');
    await clientOf(first).send(new CreateQueueCommand({ QueueName: QUEUE }));
    const second = await node('standby');
    const third = await node('standby');

    // What one node hands out is settled through another.
    await clientOf(second).send(new SendMessageCommand({ QueueUrl: QUEUE, MessageBody: 'x' }));
    const receive = new ReceiveMessageCommand({ QueueUrl: QUEUE, WaitTimeSeconds: 5 });
    const { Messages: [taken] = [] } = await clientOf(first).send(receive);
    expect(taken?.Body).toBe('x');
    const { ReceiptHandle } = taken ?? {};
    await clientOf(third).send(new DeleteMessageCommand({ QueueUrl: QUEUE, ReceiptHandle }));
    expect((await drain(clientOf(second))).size).toBe(0);
    for (const path of ['/ready', '/health'])
      expect((await fetch(`http://127.0.0.1:${portOf(second, 'api')}${path}`)).status).toBe(200);

    // All nodes tell the same of the cluster, by the command too.
    for (const asked of [first, second]) {
      const shown = await runCli(['cluster', 'status', '--api', `http://127.0.0.1:${portOf(asked, 'api')}`]);
      expect(shown).toMatch(/ owner +1 +0\n/);
      expect(shown.match(/ standby +0 +\d+\n/g)).toHaveLength(2);
    }
    const metrics = await (await fetch(`http://127.0.0.1:${portOf(first, 'api')}/metrics`)).text();
    expect(metrics).toContain('polymq_cluster_members{role="owner"} 1');
    expect(metrics).toContain('polymq_cluster_members{role="standby"} 2');
    expect(metrics).toMatch(/polymq_cluster_lease_left_seconds [01]\.\d+/);

    // From here on nodes come and go, and the clients stay with one that lives; only its ports change when it becomes the owner.
    const owner = (): BrokerProcess => [second, third].find(serves) ?? second;
    const other = (): BrokerProcess => (owner() === second ? third : second);
    stage = 'the load in front of the kill';
    const killed = new Load('killed', () => clientOf(third));
    await killed.until(300);
    const killedAt = performance.now();
    await first.kill('SIGKILL');
    stage = 'the take-over after the kill';
    while (!serves(second) && !serves(third)) await new Promise((resolve) => setTimeout(resolve, 10));
    stage = 'the load behind the kill';
    const takeoverMs = performance.now() - killedAt;
    await killed.until(killed.confirmed.size + 200);
    await killed.stop();

    stage = 'the hand-over';
    const heir = other();
    const leaving = owner();
    const fourth = await node('standby');
    const polite = new Load('polite', () => clientOf(fourth));
    await polite.until(200);
    const exited = leaving.kill('SIGTERM');
    while (!serves(heir) && !serves(fourth)) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await exited).toEqual({ code: 0, signal: null });
    const handOverMs = Math.max(whenOwner(heir), whenOwner(fourth)) - stoppedWallMs(leaving);
    await polite.until(polite.confirmed.size + 200);
    await polite.stop();

    stage = 'the loss of a NATS server';
    const server = new Load('server', () => clientOf(fourth));
    await server.until(200);
    const leading = await leader();
    await nats.kill(leading);
    await server.until(server.confirmed.size + 300);
    await nats.restart(leading);
    await server.until(server.confirmed.size + 100);
    await server.stop();

    // Figures, not verdicts: they are of the machine that runs this.
    const pauses = [killed, polite, server].map(({ longestPauseMs }) => longestPauseMs.toFixed(0));
    console.log(
      `takeover after a crash ${takeoverMs.toFixed(0)} ms, owner ${handOverMs} ms after the other had stopped; longest pause of ` +
        `clients on another node: crash ${pauses[0]} ms, hand-over ${pauses[1]} ms, a NATS server gone ${pauses[2]} ms`,
    );
    stage = 'taking everything out';
    const found = await drain(clientOf(fourth));
    for (const load of [killed, polite, server])
      expect([...load.confirmed].filter((body) => !found.has(body))).toEqual([]);
  });
});
