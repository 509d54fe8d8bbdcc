import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAwsServer, type AwsServer } from './aws-server.js';
import { RawSqs } from './raw-client.js';

/** By hand ten thousand, in multiples of ten: `AWS_POLLS=10000`. Client and server take two descriptors a poll here. */
const POLLS = Number(process.env['AWS_POLLS'] ?? 500);
/** Long enough that a timer or a loop of each poll would show; a poll itself waits 20 s at most. */
const IDLE_MS = Number(process.env['AWS_POLLS_IDLE_MS'] ?? 500);

let server: AwsServer;
let sqs: RawSqs;
const agent = new Agent({ maxSockets: Infinity });

beforeAll(async () => {
  server = await startAwsServer({ config: { connectionsMax: POLLS + 1_000 } });
  sqs = new RawSqs(server.url);
});
afterAll(async () => {
  agent.destroy();
  await server.stop();
});

/** One long poll on a connection of its own; gives the bodies. */
function poll(queue: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const headers = {
      'x-amz-target': 'AmazonSQS.ReceiveMessage',
      'content-type': 'application/x-amz-json-1.0',
    };
    const call = request(server.url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => {
        const { Messages = [] } = JSON.parse(text) as { Messages?: { Body: string }[] };
        resolve(Messages.map(({ Body }) => Body));
      });
    });
    call.on('error', reject);
    call.end(JSON.stringify({ QueueUrl: queue, WaitTimeSeconds: 20 }));
  });
}

/** Timers of this process, which is the server's. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

async function waiting(count: number): Promise<void> {
  while ((server.connector.status().counters['waiting_receives'] ?? 0) !== count) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('many long polls', () => {
  it('share their timers, and each gets its message when it comes', { timeout: 120_000 }, async () => {
    const queue = await sqs.make();
    const rssBefore = process.memoryUsage().rss;
    const polls = Array.from({ length: POLLS }, () => poll(queue));
    await waiting(POLLS);
    // No timer, no work of their own: as many of both as without them.
    expect(timers()).toBeLessThan(POLLS / 10);
    const before = performance.eventLoopUtilization();
    const cpuBefore = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const { utilization } = performance.eventLoopUtilization(before);
    const { user, system } = process.cpuUsage(cpuBefore);
    const share = (user + system) / 1000 / IDLE_MS;
    const bytes = (process.memoryUsage().rss - rssBefore) / POLLS;
    console.log(
      `${POLLS} waiting polls over ${IDLE_MS} ms: loop busy ${(utilization * 100).toFixed(2)} %, ` +
        `CPU ${(share * 100).toFixed(2)} %, ${Math.round(bytes / 1024)} KiB each with its client`,
    );

    for (let first = 0; first < POLLS; first += 10) {
      const Entries = Array.from({ length: 10 }, (_, i) => ({
        Id: String(i),
        MessageBody: String(first + i),
      }));
      await sqs.json('SendMessageBatch', { QueueUrl: queue, Entries });
    }
    const bodies = await Promise.all(polls);
    expect(bodies.every((one) => one.length === 1)).toBe(true);
    expect(new Set(bodies.flat()).size).toBe(POLLS);
    await waiting(0);
  });

  it('are answered in the order they came', async () => {
    const queue = await sqs.make();
    const polls: Promise<readonly string[]>[] = [];
    for (let i = 0; i < 5; i++) {
      polls.push(poll(queue));
      await waiting(i + 1);
    }
    for (const body of ['a', 'b', 'c', 'd', 'e']) await sqs.send(queue, body);
    expect((await Promise.all(polls)).flat()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
