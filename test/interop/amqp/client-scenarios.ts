import amqplib from 'amqplib';
import type { ConsumeMessage } from 'amqplib';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { expect } from 'vitest';
import { amqpTools, phpWith, pythonWith, rubyWith } from '../../support/foreign.js';
import { TUTORIALS } from './tutorials.js';

/** What unmodified clients do and expect, of any broker at `port`. Each leaves nothing behind. */
export interface ClientScenario {
  readonly name: string;
  readonly run: (port: number) => Promise<void>;
  readonly skip?: boolean;
}

const url = (port: number): string => `amqp://guest:guest@127.0.0.1:${String(port)}`;

/** A scenario told in another language: a script that takes the port and ends with `ok`. */
function script(name: string, file: string, interpreter: string | undefined): ClientScenario {
  return {
    name,
    skip: interpreter === undefined,
    run: async (port) => {
      const path = join(import.meta.dirname, 'foreign', file);
      const child = spawn(interpreter ?? '', [path, String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
      expect({ code, output: output.trim().split('\n').at(-1) }, output).toEqual({ code: 0, output: 'ok' });
    },
  };
}

export const CLIENT_SCENARIOS: readonly ClientScenario[] = [
  ...TUTORIALS,
  { name: 'amqplib: work queue with confirms, prefetch and acks', run: amqplibWorkQueue },
  { name: 'amqplib: publish and subscribe through fanout, direct and topic', run: amqplibExchanges },
  { name: 'amqplib: request and reply', run: amqplibRequests },
  { name: 'amqplib: every kind of property comes back', run: amqplibProperties },
  { name: 'amqplib: returns, gets, nacks, and errors of a channel', run: amqplibErrors },
  { name: 'amqplib: a large message', run: amqplibLarge },
  { name: 'rabbitmq-client: publisher, consumer, requeue and RPC', run: rabbitmqClient },
  script('pika: blocking and asynchronous connections', 'pika-scenario.py', pythonWith('pika')),
  script('kombu: priorities, prefetch and simple queues', 'kombu-scenario.py', pythonWith('kombu')),
  script(
    'Celery: tasks, groups, chains, retries and tasks for later',
    'celery-scenario.py',
    pythonWith('celery'),
  ),
  script('bunny: confirms, returns, consumers and errors', 'bunny-scenario.rb', rubyWith('bunny')),
  script(
    'php-amqplib: confirms, returns, consumers and errors',
    'php-amqplib-scenario.php',
    phpWith('PhpAmqpLib'),
  ),
  script('amqp-tools: declare, publish, get, consume', 'amqp-tools-scenario.sh', amqpTools() && 'sh'),
];

async function amqplibWorkQueue(port: number): Promise<void> {
  const connection = await amqplib.connect(url(port));
  const producer = await connection.createConfirmChannel();
  const consumer = await connection.createChannel();
  const queue = 'clients.work';
  await producer.assertQueue(queue, { durable: true });
  for (let i = 0; i < 500; i++) producer.sendToQueue(queue, Buffer.from(String(i)), { persistent: true });
  await producer.waitForConfirms();
  expect((await producer.checkQueue(queue)).messageCount).toBe(500);
  await consumer.prefetch(20);
  const bodies: string[] = [];
  let open = 0;
  let most = 0;
  let acked = 0;
  await new Promise<void>((resolve, reject) => {
    const onMessage = (message: ConsumeMessage | null): void => {
      if (message === null) {
        reject(new Error('cancelled'));
        return;
      }
      most = Math.max(most, ++open);
      bodies.push(message.content.toString());
      setImmediate(() => {
        open--;
        consumer.ack(message);
        if (++acked === 500) resolve();
      });
    };
    consumer.consume(queue, onMessage).catch(reject);
  });
  expect(most).toBeLessThanOrEqual(20);
  await consumer.close();
  expect(bodies.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, i) => String(i)));
  expect(await producer.deleteQueue(queue)).toEqual({ messageCount: 0 });
  await connection.close();
}

async function amqplibExchanges(port: number): Promise<void> {
  const connection = await amqplib.connect(url(port));
  const channel = await connection.createChannel();
  const got: string[] = [];
  const listen = async (exchange: string, type: string, pattern: string): Promise<void> => {
    await channel.assertExchange(exchange, type, { durable: false });
    const { queue } = await channel.assertQueue('', { exclusive: true });
    expect(queue).toMatch(/^amq\.gen-[\w-]{22}$/);
    await channel.bindQueue(queue, exchange, pattern);
    await channel.consume(
      queue,
      (message) => {
        if (message !== null) got.push(`${exchange} ${pattern}: ${message.fields.routingKey}`);
      },
      { noAck: true },
    );
  };
  await listen('clients.fanout', 'fanout', '');
  await listen('clients.fanout', 'fanout', '');
  await listen('clients.direct', 'direct', 'error');
  await listen('clients.topic', 'topic', '*.critical');
  await listen('clients.topic', 'topic', 'kern.#');
  channel.publish('clients.fanout', 'any', Buffer.from('x'));
  channel.publish('clients.direct', 'error', Buffer.from('x'));
  channel.publish('clients.direct', 'info', Buffer.from('x'));
  channel.publish('clients.topic', 'kern.critical', Buffer.from('x'));
  channel.publish('clients.topic', 'kern', Buffer.from('x'));
  await expect.poll(() => got.length).toBe(6);
  expect(got.sort()).toEqual([
    'clients.direct error: error',
    'clients.fanout : any',
    'clients.fanout : any',
    'clients.topic *.critical: kern.critical',
    'clients.topic kern.#: kern',
    'clients.topic kern.#: kern.critical',
  ]);
  for (const exchange of ['clients.fanout', 'clients.direct', 'clients.topic']) {
    await channel.deleteExchange(exchange);
  }
  await connection.close();
}

async function amqplibRequests(port: number): Promise<void> {
  const connection = await amqplib.connect(url(port));
  const channel = await connection.createChannel();
  await channel.assertQueue('clients.rpc', { durable: false });
  await channel.consume('clients.rpc', (message) => {
    if (message === null) return;
    const { replyTo, correlationId } = message.properties as { replyTo: string; correlationId: string };
    channel.sendToQueue(replyTo, Buffer.from(message.content.toString().toUpperCase()), { correlationId });
    channel.ack(message);
  });
  const { queue } = await channel.assertQueue('', { exclusive: true });
  const reply = new Promise<string>((resolve, reject) => {
    channel
      .consume(
        queue,
        (message) => {
          if (message?.properties.correlationId === '42') resolve(message.content.toString());
        },
        { noAck: true },
      )
      .catch(reject);
  });
  channel.sendToQueue('clients.rpc', Buffer.from('hello'), { correlationId: '42', replyTo: queue });
  expect(await reply).toBe('HELLO');
  await channel.deleteQueue('clients.rpc');
  await connection.close();
}

async function amqplibProperties(port: number): Promise<void> {
  const connection = await amqplib.connect(url(port));
  const channel = await connection.createChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  const properties = {
    contentType: 'application/json',
    contentEncoding: 'gzip',
    deliveryMode: 2,
    priority: 3,
    correlationId: 'c-1',
    replyTo: 'r-1',
    messageId: 'm-1',
    timestamp: 1_700_000_000,
    type: 'greeting',
    userId: 'guest',
    appId: 'app',
  };
  const headers = {
    text: 'text',
    whole: 7,
    big: 2 ** 40,
    broken: 1.5,
    yes: true,
    nothing: null,
    list: ['a', 1, { deep: 'er' }],
    table: { k: 'v' },
    bytes: Buffer.from([0, 1, 255]),
    long: { '!': 'int64', value: 9 },
    double: { '!': 'double', value: 4 },
    time: { '!': 'timestamp', value: 1_700_000_001 },
  };
  channel.sendToQueue(queue, Buffer.from('{}'), { ...properties, headers });
  const message = await channel.get(queue, { noAck: true });
  if (message === false) throw new Error('nothing there');
  expect(message.properties).toMatchObject(properties);
  expect(message.properties.expiration).toBeUndefined();
  const { long, double, ...rest } = headers;
  expect(message.properties.headers).toMatchObject(rest);
  expect(message.properties.headers).toMatchObject({ long: long.value, double: double.value });
  await connection.close();
}

async function amqplibErrors(port: number): Promise<void> {
  const connection = await amqplib.connect(url(port));
  const channel = await connection.createConfirmChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  const returned: string[] = [];
  channel.on('return', (message: ConsumeMessage) => returned.push(message.content.toString()));
  channel.publish('', 'clients.nowhere', Buffer.from('lost'), { mandatory: true });
  channel.publish('', queue, Buffer.from('kept'), { mandatory: true });
  await channel.waitForConfirms();
  expect(returned).toEqual(['lost']);
  const first = await channel.get(queue);
  if (first === false) throw new Error('nothing there');
  expect(first.fields.redelivered).toBe(false);
  channel.nack(first);
  const second = await channel.get(queue);
  if (second === false) throw new Error('nothing there');
  expect(second.fields.redelivered).toBe(true);
  channel.reject(second, false);
  expect(await channel.get(queue)).toBe(false);
  const failed = new Promise<Error>((resolve) => channel.once('error', resolve));
  await expect(channel.checkQueue('clients.missing')).rejects.toThrow('404');
  expect((await failed).message).toContain("no queue 'clients.missing' in vhost '/'");
  const other = await connection.createChannel();
  other.on('error', () => undefined);
  await other.assertQueue('clients.args', { durable: true });
  await expect(other.assertQueue('clients.args', { durable: false })).rejects.toThrow(
    "inequivalent arg 'durable'",
  );
  const last = await connection.createChannel();
  await last.deleteQueue('clients.args');
  await connection.close();
}

async function amqplibLarge(port: number): Promise<void> {
  const connection = await amqplib.connect(url(port));
  const channel = await connection.createConfirmChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  const body = Buffer.alloc(5_000_000);
  for (let i = 0; i < body.length; i += 997) body[i] = i % 251;
  channel.sendToQueue(queue, body);
  await channel.waitForConfirms();
  const message = await channel.get(queue, { noAck: true });
  if (message === false) throw new Error('nothing there');
  expect(message.content.equals(body)).toBe(true);
  await connection.close();
}

async function rabbitmqClient(port: number): Promise<void> {
  const connection = new Connection({ url: url(port), retryLow: 100 });
  const publisher = connection.createPublisher({
    confirm: true,
    maxAttempts: 2,
    exchanges: [{ exchange: 'clients.events', type: 'topic', durable: true }],
  });
  const bodies: unknown[] = [];
  const consumer = connection.createConsumer(
    {
      queue: 'clients.events.q',
      queueOptions: { durable: true },
      qos: { prefetchCount: 5 },
      exchanges: [{ exchange: 'clients.events', type: 'topic', durable: true }],
      queueBindings: [{ exchange: 'clients.events', routingKey: 'user.*' }],
    },
    async (message) => {
      bodies.push(message.body);
      // The first delivery of the third message is refused: it comes again.
      return (message.body as { n: number }).n === 2 && !message.redelivered ? 1 : 0;
    },
  );
  consumer.on('error', () => undefined);
  await new Promise<void>((resolve) => consumer.once('ready', resolve));
  for (let n = 0; n < 10; n++)
    await publisher.send({ exchange: 'clients.events', routingKey: 'user.in', durable: true }, { n });
  await publisher.send({ exchange: 'clients.events', routingKey: 'other' }, { n: 99 });
  await expect.poll(() => bodies.length).toBe(11);
  expect(bodies.filter((body) => (body as { n: number }).n === 2)).toHaveLength(2);
  await consumer.close();
  const server = connection.createConsumer(
    { queue: 'clients.echo', queueOptions: { exclusive: true } },
    async (message, reply) => {
      await reply(`echo ${String(message.body)}`);
    },
  );
  await new Promise<void>((resolve) => server.once('ready', resolve));
  await server.close();
  await publisher.close();
  expect(await connection.queueDelete('clients.events.q')).toMatchObject({ messageCount: 0 });
  await connection.exchangeDelete({ exchange: 'clients.events' });
  await connection.close();
}
