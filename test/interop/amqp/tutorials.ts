import amqplib from 'amqplib';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { expect } from 'vitest';

/** RabbitMQ's seven tutorials, each as its programs are: senders and receivers with connections of their own. */
type Tutorial = (connect: () => Promise<ChannelModel>) => Promise<void>;

/** What a consumer got, and a wait for the next so many. */
class Inbox {
  readonly messages: ConsumeMessage[] = [];
  #wanted: { readonly count: number; readonly resolve: () => void } | undefined;

  readonly take = (message: ConsumeMessage | null): void => {
    if (message === null) return;
    this.messages.push(message);
    if (this.#wanted !== undefined && this.messages.length >= this.#wanted.count) this.#wanted.resolve();
  };

  async bodies(count: number): Promise<readonly string[]> {
    if (this.messages.length < count) {
      await new Promise<void>((resolve) => (this.#wanted = { count, resolve }));
    }
    return this.messages.map(({ content }) => content.toString());
  }
}

/** `receive_logs`: an exclusive queue bound by these keys. */
async function receiver(
  channel: Channel,
  exchange: string,
  type: string,
  keys: readonly string[],
): Promise<Inbox> {
  await channel.assertExchange(exchange, type, { durable: false });
  const { queue } = await channel.assertQueue('', { exclusive: true });
  for (const key of keys) await channel.bindQueue(queue, exchange, key);
  const inbox = new Inbox();
  await channel.consume(queue, inbox.take, { noAck: true });
  return inbox;
}

const helloWorld: Tutorial = async (connect) => {
  const sender = await (await connect()).createChannel();
  await sender.assertQueue('hello', { durable: false });
  sender.sendToQueue('hello', Buffer.from('Hello World!'));
  const receiving = await (await connect()).createChannel();
  await receiving.assertQueue('hello', { durable: false });
  const inbox = new Inbox();
  await receiving.consume('hello', inbox.take, { noAck: true });
  expect(await inbox.bodies(1)).toEqual(['Hello World!']);
  await receiving.deleteQueue('hello');
};

const workQueues: Tutorial = async (connect) => {
  const newTask = await (await connect()).createChannel();
  await newTask.assertQueue('task_queue', { durable: true });
  const workers: { readonly channel: Channel; readonly connection: ChannelModel; readonly inbox: Inbox }[] =
    [];
  for (let i = 0; i < 2; i++) {
    const connection = await connect();
    const channel = await connection.createChannel();
    await channel.assertQueue('task_queue', { durable: true });
    await channel.prefetch(1);
    const inbox = new Inbox();
    await channel.consume('task_queue', inbox.take, { noAck: false });
    workers.push({ channel, connection, inbox });
  }
  const [first, second] = workers;
  if (first === undefined || second === undefined) throw new Error('two workers');
  for (const dots of ['.', '..', '...']) {
    newTask.sendToQueue('task_queue', Buffer.from(`task${dots}`), { persistent: true });
  }
  // Fair dispatch: one each, whoever is ready first gets the third.
  await Promise.all([first.inbox.bodies(1), second.inbox.bodies(1)]);
  second.channel.ack(second.inbox.messages[0] as ConsumeMessage);
  expect((await second.inbox.bodies(2)).at(-1)).toBe('task...');
  // A worker that dies leaves its task to the other one.
  second.channel.ack(second.inbox.messages[1] as ConsumeMessage);
  await first.connection.close();
  expect((await second.inbox.bodies(3)).toSorted()).toEqual(['task.', 'task..', 'task...']);
  expect(second.inbox.messages[2]?.fields.redelivered).toBe(true);
  second.channel.ack(second.inbox.messages[2] as ConsumeMessage);
  await newTask.deleteQueue('task_queue');
};

const publishSubscribe: Tutorial = async (connect) => {
  const inboxes = [];
  for (let i = 0; i < 2; i++) {
    inboxes.push(await receiver(await (await connect()).createChannel(), 'logs', 'fanout', ['']));
  }
  const emit = await (await connect()).createChannel();
  await emit.assertExchange('logs', 'fanout', { durable: false });
  emit.publish('logs', '', Buffer.from('info: Hello World!'));
  for (const inbox of inboxes) expect(await inbox.bodies(1)).toEqual(['info: Hello World!']);
  await emit.deleteExchange('logs');
};

const routing: Tutorial = async (connect) => {
  const channel = await (await connect()).createChannel();
  const all = await receiver(channel, 'direct_logs', 'direct', ['info', 'warning', 'error']);
  const errors = await receiver(channel, 'direct_logs', 'direct', ['error']);
  const emit = await (await connect()).createChannel();
  await emit.assertExchange('direct_logs', 'direct', { durable: false });
  for (const severity of ['info', 'warning', 'debug', 'error']) {
    emit.publish('direct_logs', severity, Buffer.from(severity));
  }
  expect(await all.bodies(3)).toEqual(['info', 'warning', 'error']);
  expect(await errors.bodies(1)).toEqual(['error']);
  await emit.deleteExchange('direct_logs');
};

const topics: Tutorial = async (connect) => {
  const channel = await (await connect()).createChannel();
  const q1 = await receiver(channel, 'topic_logs', 'topic', ['*.orange.*']);
  const q2 = await receiver(channel, 'topic_logs', 'topic', ['*.*.rabbit', 'lazy.#']);
  const everything = await receiver(channel, 'topic_logs', 'topic', ['#']);
  const emit = await (await connect()).createChannel();
  await emit.assertExchange('topic_logs', 'topic', { durable: false });
  // The animals of the tutorial's text, with what it says about each.
  const keys = [
    'quick.orange.rabbit',
    'lazy.orange.elephant',
    'quick.orange.fox',
    'lazy.brown.fox',
    'lazy.pink.rabbit',
    'quick.brown.fox',
    'orange',
    'quick.orange.new.rabbit',
    'lazy.orange.new.rabbit',
  ];
  for (const key of keys) emit.publish('topic_logs', key, Buffer.from(key));
  expect(await everything.bodies(keys.length)).toEqual(keys);
  expect(await q1.bodies(3)).toEqual(['quick.orange.rabbit', 'lazy.orange.elephant', 'quick.orange.fox']);
  expect(await q2.bodies(5)).toEqual([
    'quick.orange.rabbit',
    'lazy.orange.elephant',
    'lazy.brown.fox',
    'lazy.pink.rabbit',
    'lazy.orange.new.rabbit',
  ]);
  await emit.deleteExchange('topic_logs');
};

const rpc: Tutorial = async (connect) => {
  const server = await (await connect()).createChannel();
  await server.assertQueue('rpc_queue', { durable: false });
  await server.prefetch(1);
  const fibonacci = (n: number): number => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));
  await server.consume('rpc_queue', (message) => {
    if (message === null) return;
    const { replyTo, correlationId } = message.properties as { replyTo: string; correlationId: string };
    const answer = fibonacci(Number(message.content.toString()));
    server.sendToQueue(replyTo, Buffer.from(String(answer)), { correlationId });
    server.ack(message);
  });
  const client = await (await connect()).createChannel();
  const { queue } = await client.assertQueue('', { exclusive: true });
  const inbox = new Inbox();
  await client.consume(queue, inbox.take, { noAck: true });
  const options = { correlationId: 'c-1', replyTo: queue };
  client.sendToQueue('rpc_queue', Buffer.from('12'), options);
  expect(await inbox.bodies(1)).toEqual(['144']);
  expect(inbox.messages[0]?.properties.correlationId).toBe('c-1');
  await client.deleteQueue('rpc_queue');
};

const publisherConfirms: Tutorial = async (connect) => {
  const channel = await (await connect()).createConfirmChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  // One by one, in batches, and as they come.
  for (let i = 0; i < 10; i++) {
    channel.sendToQueue(queue, Buffer.from(String(i)));
    await channel.waitForConfirms();
  }
  for (let i = 0; i < 100; i++) channel.sendToQueue(queue, Buffer.from(String(i)));
  await channel.waitForConfirms();
  let confirmed = 0;
  await new Promise<void>((resolve, reject) => {
    for (let i = 0; i < 100; i++) {
      channel.sendToQueue(queue, Buffer.from(String(i)), {}, (error: unknown) => {
        if (error !== null && error !== undefined) reject(new Error('nacked'));
        else if (++confirmed === 100) resolve();
      });
    }
  });
  expect((await channel.checkQueue(queue)).messageCount).toBe(210);
};

function run(tutorial: Tutorial): (port: number) => Promise<void> {
  return async (port) => {
    const connections: ChannelModel[] = [];
    const connect = async (): Promise<ChannelModel> => {
      const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${String(port)}`);
      connections.push(connection);
      return connection;
    };
    try {
      await tutorial(connect);
    } finally {
      // One of them the tutorial itself has closed.
      for (const connection of connections) await connection.close().catch(() => undefined);
    }
  };
}

export const TUTORIALS = [
  { name: 'tutorial 1: hello world', run: run(helloWorld) },
  { name: 'tutorial 2: work queues', run: run(workQueues) },
  { name: 'tutorial 3: publish and subscribe', run: run(publishSubscribe) },
  { name: 'tutorial 4: routing', run: run(routing) },
  { name: 'tutorial 5: topics', run: run(topics) },
  { name: 'tutorial 6: RPC', run: run(rpc) },
  { name: 'tutorial 7: publisher confirms', run: run(publisherConfirms) },
];
