import { randomBytes, randomUUID } from 'node:crypto';
import { QueuesClient, type QueueTransactionMessage } from 'kubemq-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChannelName } from '../../src/core/channel-name.js';
import type { QueueStats } from '../../src/core/queue/types.js';
import type { RunningBroker } from '../../src/app/index.js';
import { startServer } from '../support/server.js';
import { expectedAttribute, expectedMetadata } from './wires/expected.js';
import {
  channelsOf,
  CONSUMERS,
  openConsumer,
  openProducer,
  PRODUCERS,
  type Consumer,
  type ConsumerName,
  type Endpoints,
  type Message,
  type Producer,
  type ProducerName,
  type Received,
} from './wires/index.js';

/**
 * The promise of the product: one queue, known to each protocol by a name of its own; whatever any SDK sends, any other
 * receives, settles and sees redelivered.
 */
const QUEUE = 'orders';
let broker: RunningBroker;
let endpoints: Endpoints;
const producers = new Map<ProducerName, Producer>();

beforeAll(async () => {
  const { channel, aliases } = channelsOf(QUEUE);
  broker = await startServer({ config: { aliases: aliases.map((alias) => ({ alias, channel })) } });
  const at = (name: string): string => `127.0.0.1:${broker.address(name).port}`;
  endpoints = {
    aws: `http://${at('aws')}`,
    pubsub: at('gcp'),
    amqp: `amqp://guest:guest@${at('amqp')}`,
    native: at('native-grpc'),
  };
  for (const name of PRODUCERS) producers.set(name, await openProducer[name](endpoints, QUEUE));
});
afterAll(async () => {
  for (const producer of producers.values()) await producer.close();
  await broker.stop();
});

const stats = (): QueueStats => broker.broker.queueStats(QUEUE as ChannelName)!;
const empty = { ready: 0, inFlight: 0, delayed: 0 };

function messageFor(producer: Producer, bytes: boolean): Message {
  const body = bytes
    ? Buffer.concat([randomBytes(700), Buffer.from([0, 255, 254])])
    : Buffer.from(`Zürich ✓ ${randomUUID()}`);
  return {
    body: producer.takesBytes || !bytes ? body : Buffer.from(body.toString('base64')),
    attribute: { name: 'trace', value: `t-${randomUUID()}` },
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function using(name: ConsumerName, run: (consumer: Consumer) => Promise<void>): Promise<void> {
  const consumer = await openConsumer[name](endpoints, QUEUE);
  try {
    await run(consumer);
  } finally {
    await consumer.close();
  }
}

function check(received: Received, sent: Message, producer: ProducerName, consumer: ConsumerName): void {
  expect(received.body.equals(sent.body), 'the body').toBe(true);
  const { name, value } = expectedAttribute(producer, consumer, sent);
  expect(received.attributes.get(name), `attribute ${name}`).toBe(value);
  expect(received.metadata).toBe(expectedMetadata(producer, consumer, sent));
}

const cells = PRODUCERS.flatMap((producer) => CONSUMERS.map((consumer) => [producer, consumer] as const));

describe.each(cells)('%s to %s', (from, to) => {
  it('text, attributes, redelivery and counts', async () => {
    const producer = producers.get(from)!;
    const message = messageFor(producer, false);
    await producer.send(message);
    await using(to, async (consumer) => {
      const first = await consumer.receive();
      check(first, message, from, to);
      expect(first.wasBase64).toBe(false);
      expect(first.receiveCount ?? 1).toBe(1);
      expect(first.isRedelivered ?? false).toBe(false);
      await first.giveBack();
      const second = await consumer.receive();
      check(second, message, from, to);
      expect(second.id).toBe(first.id);
      expect(second.receiveCount ?? 2).toBe(2);
      expect(second.isRedelivered ?? true).toBe(true);
      await second.accept();
      await until(() => stats().inFlight === 0);
    });
    expect(stats()).toMatchObject(empty);
  });

  it('bytes', async () => {
    const producer = producers.get(from)!;
    const message = messageFor(producer, true);
    await producer.send(message);
    await using(to, async (consumer) => {
      const received = await consumer.receive();
      expect(received.wasBase64).toBe(to === 'SQS' && producer.takesBytes);
      check(received, message, from, to);
      await received.accept();
      await until(() => stats().inFlight === 0);
    });
    expect(stats()).toMatchObject(empty);
  });
});

describe('one message, four consumers', () => {
  it.each(PRODUCERS)('from %s: each gives it back to the next, and the count goes on', async (from) => {
    const producer = producers.get(from)!;
    const message = messageFor(producer, false);
    await producer.send(message);
    for (const [index, name] of CONSUMERS.entries()) {
      await using(name, async (consumer) => {
        const received = await consumer.receive();
        check(received, message, from, name);
        expect(received.receiveCount ?? index + 1).toBe(index + 1);
        expect(received.isRedelivered ?? index > 0).toBe(index > 0);
        if (index < CONSUMERS.length - 1) {
          // Given back by its end, as a program that stops does.
          if (name === 'SQS') await received.giveBack();
        } else await received.accept();
      });
      await until(() => stats().inFlight === 0);
    }
    expect(stats()).toMatchObject(empty);
  });
});

describe('kubemq-js, the published client', () => {
  let client: QueuesClient;
  beforeAll(() => {
    client = new QueuesClient({ address: endpoints.native, clientId: 'kubemq-js' });
  });
  afterAll(() => client.close());

  it.each(PRODUCERS)('takes what %s sent, back and again', async (from) => {
    const producer = producers.get(from)!;
    const message = messageFor(producer, true);
    await producer.send(message);
    for (const count of [1, 2]) {
      const seen: { body: Buffer; count: number | undefined }[] = [];
      const errors: string[] = [];
      await client.transaction(
        { channel: QUEUE, visibilitySeconds: 30, waitTimeoutSeconds: 5 },
        (error: Error | null | undefined, taken: QueueTransactionMessage | null) => {
          if (error) errors.push(error.message);
          if (taken === null) return;
          const { body, attributes } = taken.message;
          seen.push({ body: Buffer.from(body as Uint8Array), count: attributes?.receiveCount });
          void (count === 1 ? taken.reject() : taken.ack());
        },
      );
      expect(errors).toEqual([]);
      expect(seen).toEqual([{ body: message.body, count }]);
    }
    expect(stats()).toMatchObject(empty);
  });

  it.each(CONSUMERS)('sends what %s takes', async (to) => {
    const body = Buffer.from(`kubemq-js ${randomUUID()}`);
    const sent = await client.send({ channel: QUEUE, metadata: 'from kubemq-js', body });
    expect(sent.isError).toBe(false);
    await using(to, async (consumer) => {
      const received = await consumer.receive();
      expect(received.body.equals(body)).toBe(true);
      if (to === 'AMQP' || to === 'native') expect(received.metadata).toBe('from kubemq-js');
      await received.accept();
      await until(() => stats().inFlight === 0);
    });
    expect(stats()).toMatchObject(empty);
  });
});

describe('all at once', () => {
  it('four consumers share what five producers send; nothing is lost and nothing comes twice', async () => {
    const each = 40;
    const total = each * PRODUCERS.length;
    const seen = new Map<string, number>();
    const consumers = await Promise.all(CONSUMERS.map((name) => openConsumer[name](endpoints, QUEUE)));
    const shares = new Map<ConsumerName, number>();
    let isOver = false;
    const loops = consumers.map(async (consumer) => {
      while (!isOver) {
        const received = await consumer.receive();
        await received.accept();
        const text = received.body.toString();
        seen.set(text, (seen.get(text) ?? 0) + 1);
        shares.set(consumer.name, (shares.get(consumer.name) ?? 0) + 1);
      }
    });
    for (const loop of loops) loop.catch(() => undefined);
    const sent: string[] = [];
    await Promise.all(
      [...producers.values()].map(async (producer) => {
        for (let i = 0; i < each; i++) {
          const message = messageFor(producer, false);
          sent.push(message.body.toString());
          await producer.send(message);
        }
      }),
    );
    await until(() => seen.size === total && stats().inFlight === 0);
    isOver = true;
    expect(sent.every((text) => seen.get(text) === 1)).toBe(true);
    expect([...shares.keys()].sort()).toEqual([...CONSUMERS].sort());
    await Promise.all(consumers.map((consumer) => consumer.close()));
    expect(stats()).toMatchObject(empty);
  });
});
