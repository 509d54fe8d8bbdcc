import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { v1 } from '@google-cloud/pubsub';
import { credentials } from '@grpc/grpc-js';
import { connect } from 'amqplib';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { NativeClient } from '../../support/native-client.js';
import { Downstream } from '../../support/native-shapes.js';
import { denied, POLICY, useSecuredServer } from './secured-server.js';

const server = useSecuredServer();
const name = (text: string): ChannelName => text as ChannelName;
const DENIED = 'Error 412: access denied to resource';
const waits = async (channel: string): Promise<void> => {
  await expect.poll(() => server().running.broker.queueStats(name(channel))?.waiters).toBe(1);
};
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

function alice(): NativeClient {
  const address = `127.0.0.1:${server().running.address('native-grpc').port}`;
  const client = new NativeClient(address, undefined, { token: server().tokens.alice });
  closers.push(() => client.close());
  return client;
}

function subscriber() {
  const client = new v1.SubscriberClient({
    servicePath: '127.0.0.1',
    port: server().running.address('gcp').port,
    sslCreds: credentials.createInsecure(),
    projectId: 'p',
  });
  closers.push(() => client.close());
  return { client, call: { otherArgs: { headers: { authorization: `Bearer ${server().tokens.alice}` } } } };
}

async function ask(path: string, body?: object): Promise<{ status: number; text: string }> {
  const answer = await fetch(`http://127.0.0.1:${server().running.address('api').port}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${server().tokens.alice}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text() };
}

async function amqpChannel() {
  const { port } = server().running.address('amqp');
  const connection = await connect(`amqp://x:${server().tokens.alice}@127.0.0.1:${port}`);
  closers.push(() => connection.close());
  return connection.createChannel();
}

beforeAll(async () => {
  const { broker } = server().running;
  for (const channel of ['native.orders', 'native.orders-held', 'native.orders-waited'])
    await broker.change([{ do: 'create-queue', channel: name(channel) }]);
  await broker.change([{ do: 'create-log', channel: name('native.orders-log') }]);
});
beforeEach(() => server().replacePolicy(POLICY));

/** Begins something that lasts, and says when it does; gives how it ends. */
type Begin = () => Promise<{ readonly ended: Promise<unknown> }>;

const figures = () => server().running.broker.live.figures();
const subscribed = async (before: number): Promise<void> => {
  await expect.poll(() => figures().subscribers).toBe(before + 1);
};
const grpcDenied = { code: 7, details: DENIED };

const LASTING: Readonly<Record<string, readonly [Begin, expected: unknown]>> = {
  'native: live events': [
    async () => {
      const before = figures().subscribers;
      const { ended } = alice().listen({ Channel: 'native.orders' });
      await subscribed(before);
      return { ended };
    },
    grpcDenied,
  ],
  'native: events of a store': [() => readLog(''), grpcDenied],
  'native: events of a store, in a group': [() => readLog('g'), grpcDenied],
  'native: serving queries': [
    async () => {
      const before = figures().subscribers;
      const { ended } = alice().serve({ Channel: 'native.orders' });
      await subscribed(before);
      return { ended };
    },
    grpcDenied,
  ],
  'native: a Get that waits': [
    async () => {
      const got = alice().downstream().get('native.orders-waited', { WaitTimeout: 600_000 });
      await waits('native.orders-waited');
      return { ended: got };
    },
    { IsError: true, Error: DENIED },
  ],
  'native: a receive that waits': [
    async () => {
      const got = alice().receive('native.orders-waited', { waitSeconds: 600 });
      await waits('native.orders-waited');
      return { ended: got };
    },
    { IsError: true, Error: DENIED },
  ],
  'native: a WebSocket': [
    async () => {
      const before = figures().subscribers;
      const { port } = server().running.address('native-rest');
      const socket = new WebSocket(
        `ws://127.0.0.1:${port}/subscribe/events?subscribe_type=events&client_id=c&channel=native.orders`,
        { headers: { authorization: server().tokens.alice } },
      );
      const ended = new Promise((resolve, reject) => {
        socket.on('error', reject);
        socket.on('message', (data: Buffer) => resolve(JSON.parse(data.toString())));
      });
      await subscribed(before);
      return { ended };
    },
    { is_error: true, message: DENIED, data: null },
  ],
  'Pub/Sub: StreamingPull': [
    async () => {
      const { client, call } = subscriber();
      const stream = client.streamingPull(call);
      const ended = new Promise((resolve) => stream.on('error', resolve));
      const opened = new Promise((resolve) => stream.once('data', resolve));
      stream.write({ subscription: 'projects/p/subscriptions/orders', streamAckDeadlineSeconds: 10 });
      await opened;
      return { ended };
    },
    { code: 7, details: 'User not authorized to perform this action.' },
  ],
  'Pub/Sub: a Pull that waits': [
    async () => {
      const { client, call } = subscriber();
      const subscription = 'projects/p/subscriptions/orders';
      const ended = denied(client.pull({ subscription, maxMessages: 1 }, { ...call, timeout: 60_000 }));
      await waits('gcp.sub.orders');
      return { ended };
    },
    { code: 7, details: 'User not authorized to perform this action.' },
  ],
  'AMQP: a consumer': [() => consumer('orders'), null],
  "AMQP: a stream's consumer": [() => consumer('orders-stream'), null],
  'SQS: a receive that waits': [
    async () => {
      const client = new SQSClient({
        endpoint: `http://127.0.0.1:${server().running.address('aws').port}`,
        region: 'us-east-1',
        credentials: { accessKeyId: 'alice', secretAccessKey: 'secret' },
        maxAttempts: 1,
      });
      closers.push(() => client.destroy());
      const receive = new ReceiveMessageCommand({ QueueUrl: 'orders', WaitTimeSeconds: 20 });
      const ended = denied(client.send(receive));
      await waits('sqs.orders');
      return { ended };
    },
    { name: 'AccessDenied' },
  ],
  'admin API: a receive that waits': [
    async () => {
      const ended = ask('/api/v1/queues/native.orders-waited/receive', { waitMs: 20_000 });
      await waits('native.orders-waited');
      return { ended };
    },
    { status: 403 },
  ],
};

async function readLog(group: string) {
  const stats = () => server().running.broker.logStats(name('native.orders-log'))?.subscriptions;
  expect(stats()).toBe(0);
  const { ended } = alice().subscribe({ Channel: 'native.orders-log', Group: group });
  await expect.poll(stats).toBe(1);
  return { ended };
}

async function consumer(queue: string) {
  const channel = await amqpChannel();
  const isStream = queue.endsWith('stream');
  await channel.assertQueue(queue, isStream ? { arguments: { 'x-queue-type': 'stream' } } : {});
  await channel.prefetch(10);
  // RabbitMQ's way to say that a consumer is over: null in the place of a message.
  const ended = new Promise((resolve) => void channel.consume(queue, resolve));
  await channel.checkQueue(queue);
  return { ended };
}

describe('what lasts ends with the refusal when a policy allows it no longer', () => {
  beforeAll(async () => {
    const root = `Bearer ${server().tokens.root}`;
    const port = server().running.address('gcp').port;
    const put = (path: string, body: object): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/v1/projects/p/${path}`, {
        method: 'PUT',
        headers: { authorization: root, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await put('topics/orders', {})).status).toBe(200);
    expect((await put('subscriptions/orders', { topic: 'projects/p/topics/orders' })).status).toBe(200);
    const client = new SQSClient({
      endpoint: `http://127.0.0.1:${server().running.address('aws').port}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'root', secretAccessKey: 'secret' },
    });
    await client.send(new CreateQueueCommand({ QueueName: 'orders' }));
    client.destroy();
  });

  it.each(Object.entries(LASTING))('%s', async (_name, [begin, expected]) => {
    const { ended } = await begin();
    server().replacePolicy([POLICY[0]]);
    const end = await ended;
    if (expected === null) expect(end).toBeNull();
    else expect(end).toMatchObject(expected as object);
  });
});

describe('what a client holds when its right goes', () => {
  const stats = () => server().running.broker.queueStats(name('native.orders-held'));
  const fill = async (): Promise<void> => {
    await server().running.broker.purge(name('native.orders-held'), {
      ready: true,
      delayed: true,
      inFlight: true,
    });
    await server().running.broker.send([{ channel: name('native.orders-held'), body: Buffer.from('x') }]);
  };

  it('goes back to its queue with the stream of a downstream', async () => {
    await fill();
    const downstream = alice().downstream();
    const got = await downstream.get('native.orders-held');
    expect(stats()).toMatchObject({ inFlight: 1 });
    server().replacePolicy([POLICY[0]]);
    const settled = await downstream.settle(Downstream.ackAll, got.TransactionId);
    expect(settled).toMatchObject({ IsError: true });
    downstream.cancel();
    await expect.poll(stats).toMatchObject({ inFlight: 0, ready: 1 });
  });

  it('goes back to its queue with the older stream', async () => {
    await fill();
    const stream = alice().streamQueueMessage();
    await stream.request({
      StreamRequestTypeData: 1,
      ClientID: 'c',
      Channel: 'native.orders-held',
      VisibilitySeconds: 600,
    });
    expect(stats()).toMatchObject({ inFlight: 1 });
    server().replacePolicy([POLICY[0]]);
    stream.cancel();
    await expect.poll(stats).toMatchObject({ inFlight: 0, ready: 1 });
  });

  it('goes back to its queue with the AMQP connection', async () => {
    const channel = await amqpChannel();
    await channel.assertQueue('orders-held');
    channel.sendToQueue('orders-held', Buffer.from('x'));
    await channel.checkQueue('orders-held');
    expect(await channel.get('orders-held')).not.toBe(false);
    server().replacePolicy([POLICY[0]]);
    await channel.close();
    const held = () => server().running.broker.queueStats(name('amqp.default.orders-held'));
    await expect.poll(held).toMatchObject({ inFlight: 0, ready: 1 });
  });
});
