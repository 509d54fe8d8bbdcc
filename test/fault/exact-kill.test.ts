import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { status, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectClients, subscriptionName, topicName, type Clients } from '../interop/gcp/clients.js';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker } from '../support/process.js';
import { randomFrom } from '../support/random.js';
import { Patience, sleep } from './exercise.js';

const KILLS = Number(process.env['FAULT_KILLS'] ?? 2);
const KEYS = 5;
/** Another one each day, the same all day. */
const SEED = Number(process.env['FAULT_SEED'] ?? Math.floor(Date.now() / 86_400_000));
const TOPIC = topicName('killed');
const EXACT = subscriptionName('exact');
const OPTIONS = { timeout: 5000, retry: null };

const random = randomFrom(SEED);
const folder = temporaryFolder();

/** What was pushed, life by life: the numbers that were taken, in their order. */
const lives: number[][] = [];
let endpoint: Server;
beforeAll(async () => {
  endpoint = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { message } = JSON.parse(body) as { message: { data: string } };
      const isTaken = !random.chance(0.05);
      if (isTaken) lives.at(-1)?.push(Number(Buffer.from(message.data, 'base64').toString()));
      response.writeHead(isTaken ? 204 : 503).end();
    });
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  endpoint.closeAllConnections();
  endpoint.close();
  folder.remove();
});

/** What consumers of the exactly-once subscription were told. */
const told = {
  published: new Set<number>(),
  /** The acknowledgement was answered: gone for good. */
  gone: new Set<number>(),
  /** It was on its way: either is right. */
  either: new Set<number>(),
};

async function publishUntilGone({ publisher }: Clients, from: number): Promise<number> {
  for (let n = from; ; n++) {
    const message = { data: Buffer.from(String(n)), orderingKey: `k${n % KEYS}` };
    try {
      await publisher.publish({ topic: TOPIC, messages: [message] }, OPTIONS);
      told.published.add(n);
    } catch {
      return n + 1;
    }
  }
}

/** Pulls once and acknowledges what came; gives the numbers. Rejects when the broker is gone. */
async function pullAndAck({ subscriber }: Clients): Promise<readonly number[]> {
  const [{ receivedMessages }] = await subscriber.pull(
    { subscription: EXACT, maxMessages: 50, returnImmediately: true },
    OPTIONS,
  );
  const received = receivedMessages ?? [];
  const numbers = received.map(({ message }) => Number(String(message?.data)));
  expect(numbers.filter((n) => told.gone.has(n))).toEqual([]);
  if (received.length === 0) return numbers;
  for (const n of numbers) told.either.add(n);
  const ackIds = received.map(({ ackId }) => ackId ?? '');
  await subscriber.acknowledge({ subscription: EXACT, ackIds }, OPTIONS);
  for (const n of numbers) {
    told.either.delete(n);
    told.gone.add(n);
  }
  return numbers;
}

async function consumeUntilGone(clients: Clients): Promise<void> {
  try {
    for (;;) await pullAndAck(clients);
  } catch (caught) {
    const { code } = caught as ServiceError;
    // Killed. An acknowledgement that is too late would be no surprise on a machine that stood still.
    if (![status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.FAILED_PRECONDITION].includes(code))
      throw caught;
  }
}

async function setUp({ publisher, subscriber }: Clients): Promise<void> {
  const { port } = endpoint.address() as AddressInfo;
  await publisher.createTopic({ name: TOPIC });
  await subscriber.createSubscription({
    name: EXACT,
    topic: TOPIC,
    enableMessageOrdering: true,
    enableExactlyOnceDelivery: true,
  });
  await subscriber.createSubscription({
    name: subscriptionName('pushed'),
    topic: TOPIC,
    enableMessageOrdering: true,
    pushConfig: { pushEndpoint: `http://127.0.0.1:${port}/` },
  });
}

/** After the last restart: everything comes, on both subscriptions. */
async function checkAll(clients: Clients): Promise<void> {
  const missing = (): number[] => {
    const taken = new Set(lives.flat());
    return [...told.published].filter((n) => !taken.has(n));
  };
  const patience = new Patience();
  const left = (): number[] =>
    [...told.published].filter((n) => !told.gone.has(n) && !told.either.has(n)).concat(missing());
  const seen: number[] = [];
  // What was pulled by the life before comes when its lease is over.
  while (!patience.isOver && left().length > 0) {
    seen.push(...(await pullAndAck(clients)));
    await sleep(20);
  }
  expect([left(), missing()]).toEqual([[], []]);
  for (let key = 0; key < KEYS; key++) {
    const own = seen.filter((n) => n % KEYS === key);
    expect(own).toEqual([...own].sort((a, b) => a - b));
  }
}

describe('killed in the middle of exactly-once and push traffic', () => {
  it(`keeps what was confirmed, pushes everything (seed ${SEED})`, { timeout: 300_000 }, async () => {
    let next = 0;
    for (let round = 0; round <= KILLS; round++) {
      lives.push([]);
      const broker = await spawnBroker({
        folder: folder.path,
        environment: { CONNECTORS_GCP_ENABLE: 'true' },
        args: [],
      });
      const clients = connectClients(broker.port('gcp'));
      try {
        if (round === 0) await setUp(clients);
        if (round === KILLS) {
          await checkAll(clients);
          continue;
        }
        const killed = sleep(300 + random.next() * 900).then(() => broker.kill());
        [next] = await Promise.all([publishUntilGone(clients, next), consumeUntilGone(clients), killed]);
      } finally {
        await broker.kill();
        await clients.close().catch(() => undefined);
      }
    }
    // One request of a key at a time: within a life each key was pushed in its order.
    for (const life of lives) {
      for (let key = 0; key < KEYS; key++) {
        const own = life.filter((n) => n % KEYS === key);
        expect(own).toEqual([...own].sort((a, b) => a - b));
      }
    }
    expect(told.gone.size).toBeGreaterThan(KILLS);
    expect(lives[0]?.length).toBeGreaterThan(0);
  });
});
