import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { processSeconds, residentMiB } from '../../../bench/harness/cpu.js';
import { temporaryFolder } from '../../support/folder.js';
import { spawnBroker, type BrokerProcess } from '../../support/process.js';
import { startAwsServer, type AwsServer } from './aws-server.js';
import type { PollingOrder, PollingReport } from './polling-clients.js';
import { RawSqs } from './raw-client.js';

/** By hand ten thousand, in multiples of a hundred: `AWS_POLLS=10000`. A descriptor each, for the broker and for the clients. */
const POLLS = Number(process.env['AWS_POLLS'] ?? 500);
const byHand = process.env['AWS_POLLS'] !== undefined;
/** How long a poll waits at most: by hand as long as SQS lets it. */
const WAIT_SECONDS = byHand ? 20 : 2;
/** Long enough that a timer or a loop of each poll would show, and none ends meanwhile. */
const IDLE_MS = byHand ? 10_000 : 500;
/** Long enough for each to end and be made again. */
const AGAIN_MS = byHand ? 30_000 : WAIT_SECONDS * 1000;
/** The line that polls form, in groups: who of one is before whom is the network's choice. */
const GROUPS = 100;
/** A second. */
const SENT_MAX = 1_000;
const TIMEOUT_MS = byHand ? 600_000 : 120_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('many long polls of clients in another process', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let broker: BrokerProcess;
  let sqs: RawSqs;
  let clients: ChildProcess;
  let got: Extract<PollingReport, { kind: 'got' }>[];
  let failures: string[];

  beforeEach(async () => {
    folder = temporaryFolder();
    broker = await spawnBroker({ folder: folder.path });
    sqs = new RawSqs(`http://127.0.0.1:${broker.port('aws')}`);
    got = [];
    failures = [];
    clients = fork(join(import.meta.dirname, 'polling-clients.ts'), { execArgv: ['--import', 'tsx'] });
    clients.on('message', (report: PollingReport) => {
      if (report.kind === 'got') got.push(report);
      if (report.kind === 'failed') failures.push(report.error);
    });
  });
  afterEach(async () => {
    const ended = once(clients, 'exit');
    clients.disconnect();
    await ended;
    await broker.kill();
    folder.remove();
  });

  const tell = (order: PollingOrder): void => {
    clients.send(order);
  };

  async function until(reached: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await reached())) {
      if (failures.length > 0) throw new Error(`${failures.length} polls failed, the first: ${failures[0]}`);
      await pause(5);
    }
  }

  /** A counter of the connector, from the broker's metrics. */
  async function counter(name: string): Promise<number> {
    const url = `http://127.0.0.1:${broker.port('api')}/metrics`;
    const text = await (await fetch(url, { headers: { connection: 'close' } })).text();
    const found = new RegExp(`connector_count\\{connector="aws",counter="${name}"\\} (\\d+)`).exec(text);
    if (found === null) throw new Error(`no counter ${name}`);
    return Number(found[1]);
  }
  const waiting = (count: number): Promise<void> =>
    until(async () => (await counter('waiting_receives')) === count);

  /** What the broker takes for a while. */
  async function processorTime(what: string, ms: number): Promise<void> {
    const requests = await counter('requests');
    const [seconds, begin] = [processSeconds(broker.pid), performance.now()];
    await pause(ms);
    const used = processSeconds(broker.pid) - seconds;
    const share = (used * 100_000) / (performance.now() - begin);
    const answered = (await counter('requests')) - requests;
    console.log(
      `${POLLS} ${what}: ${Math.round(used * 1000)} ms of processor time in ${ms} ms, ${share.toFixed(2)} % of a core; ` +
        `${answered} requests`,
    );
  }

  /** All clients poll, each group when those before it wait: now the order of waiting is known. */
  async function lineUp(): Promise<void> {
    for (let group = 1; group <= GROUPS; group++) {
      const [from, to] = [((group - 1) * POLLS) / GROUPS, (group * POLLS) / GROUPS];
      tell({ kind: 'poll', from, to, waitSeconds: 20 });
      await waiting(to);
    }
  }

  async function send(queue: string): Promise<void> {
    const begin = performance.now();
    for (let first = 0; first < POLLS; first += 10) {
      const Entries = Array.from({ length: 10 }, (_, i) => ({
        Id: String(i),
        MessageBody: String(first + i),
      }));
      const { body } = await sqs.json('SendMessageBatch', { QueueUrl: queue, Entries });
      expect(body['Successful']).toHaveLength(10);
      await pause(Math.max(0, begin + (first * 1000) / SENT_MAX - performance.now()));
    }
  }

  it(
    `${POLLS} cost nothing while idle, and get one message each in the order of waiting`,
    { timeout: TIMEOUT_MS },
    async () => {
      const queue = await sqs.make({ VisibilityTimeout: '43200' });
      await processorTime('polls to come, none yet', IDLE_MS);
      const memory = residentMiB(broker.pid);
      tell({ kind: 'begin', url: `http://127.0.0.1:${broker.port('aws')}`, queue });
      tell({ kind: 'poll', from: 0, to: POLLS, waitSeconds: WAIT_SECONDS });
      await waiting(POLLS);
      const each = ((residentMiB(broker.pid) - memory) * 1024) / POLLS;
      console.log(`${POLLS} polls wait, ${each.toFixed(1)} KiB each`);
      await processorTime('polls that only wait', IDLE_MS);
      await processorTime('polls, each once ended and made again', AGAIN_MS);

      const rested = new Promise<number>((resolve) => {
        clients.on('message', (report: PollingReport) => {
          if (report.kind === 'rested') resolve(report.empty);
        });
      });
      await until(async () => (await counter('requests')) > 2 * POLLS);
      tell({ kind: 'rest' });
      expect(await rested).toBeGreaterThanOrEqual(2 * POLLS);
      expect(await counter('waiting_receives')).toBe(0);

      await lineUp();
      const [seconds, begin] = [processSeconds(broker.pid), performance.now()];
      await send(queue);
      await until(() => got.length >= POLLS);
      const share = ((processSeconds(broker.pid) - seconds) * 100_000) / (performance.now() - begin);

      // Nothing lost, nothing twice, one each.
      expect(got.every(({ bodies }) => bodies.length === 1)).toBe(true);
      expect(new Set(got.map(({ client }) => client)).size).toBe(POLLS);
      const byMessage = got.toSorted((a, b) => Number(a.bodies[0]) - Number(b.bodies[0]));
      expect(byMessage.map(({ bodies }) => Number(bodies[0]))).toEqual(
        Array.from({ length: POLLS }, (_, i) => i),
      );
      // The next message to who waits longest. Whose poll ended before it was his turn stands at the end of the line since.
      const first = byMessage.filter(({ polls }) => polls === 1);
      const groups = first.map(({ client }) => Math.floor((client * GROUPS) / POLLS));
      expect(groups).toEqual(groups.toSorted((a, b) => a - b));
      console.log(
        `${POLLS} messages to as many polls, ${SENT_MAX} a second: ${share.toFixed(1)} % of a core; ` +
          `${first.length} by the first poll of the line`,
      );
      const { body } = await sqs.json('GetQueueAttributes', { QueueUrl: queue, AttributeNames: ['All'] });
      expect(body['Attributes']).toMatchObject({
        ApproximateNumberOfMessages: '0',
        ApproximateNumberOfMessagesNotVisible: String(POLLS),
      });
      expect(failures).toEqual([]);
    },
  );
});

describe('long polls', () => {
  let server: AwsServer;
  let sqs: RawSqs;
  beforeAll(async () => {
    server = await startAwsServer();
    sqs = new RawSqs(server.url);
  });
  afterAll(() => server.stop());

  const poll = async (queue: string): Promise<readonly unknown[]> =>
    (await sqs.receive(queue, { MaxNumberOfMessages: 1, WaitTimeSeconds: 20 })).map(({ Body }) => Body);
  const waiting = async (count: number): Promise<void> => {
    // A machine that is busy with other things may take its time.
    const counted = () => server.connector.status().counters['waiting_receives'];
    await expect.poll(counted, { timeout: TIMEOUT_MS }).toBe(count);
  };

  it('share their timers', async () => {
    const queue = await sqs.make();
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const polls = Array.from({ length: 200 }, () => poll(queue));
    await waiting(200);
    expect(timers()).toBeLessThan(20);
    for (let i = 0; i < 200; i++) await sqs.send(queue, String(i));
    const bodies = (await Promise.all(polls)).flat();
    expect(new Set(bodies).size).toBe(200);
    await waiting(0);
  });

  it('are answered in the order they came', async () => {
    const queue = await sqs.make();
    const polls: Promise<readonly unknown[]>[] = [];
    for (let i = 0; i < 5; i++) {
      polls.push(poll(queue));
      await waiting(i + 1);
    }
    for (const body of ['a', 'b', 'c', 'd', 'e']) await sqs.send(queue, body);
    expect((await Promise.all(polls)).flat()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
