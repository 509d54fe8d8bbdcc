import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectClients, subscriptionName, topicName, type Clients } from '../interop/gcp/clients.js';
import { startForwarded, type ForwardedBroker } from '../support/cluster.js';
import { temporaryFolder } from '../support/folder.js';
import { NativeClient } from '../support/native-client.js';
import { natsMissing, startNats, type NatsServers } from '../support/nats-server.js';

const on = { enable: true, port: 0 };

describe.skipIf(natsMissing !== undefined)('clients of two nodes', () => {
  let nats: NatsServers;
  let nodes: ForwardedBroker;
  const folder = temporaryFolder();
  beforeAll(async () => {
    nats = await startNats();
    const connectors = { aws: on, gcp: { enable: true }, pubSub: { port: 0 }, amqp: on };
    const replicas = { replicas: 1 } as const;
    const config = { host: '127.0.0.1', api: { port: 0 }, grpc: on, connectors, nats: replicas };
    nodes = await startForwarded({ config }, folder.path, nats.url);
  });
  afterAll(async () => {
    await nodes.stop(0);
    await nats.stop();
    folder.remove();
  });

  /** The listener's port on the owner, and on the node beside it. */
  const ports = (listener: string): readonly [number, number] => [
    nodes.owner.address(listener).port,
    nodes.address(listener).port,
  ];

  describe('SQS', () => {
    let one: SQSClient;
    let two: SQSClient;
    beforeAll(() => {
      [one, two] = ports('aws').map(
        (port) =>
          new SQSClient({
            endpoint: `http://127.0.0.1:${port}`,
            region: 'us-east-1',
            credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
            useQueueUrlAsEndpoint: false,
          }),
      ) as [SQSClient, SQSClient];
    });

    it('a queue made on one is there on the other at once, and a handle is good on both', async () => {
      const { QueueUrl } = await two.send(new CreateQueueCommand({ QueueName: 'shared' }));
      await one.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }));
      const receive = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 });
      const { Messages: [message] = [] } = await two.send(receive);
      const { ReceiptHandle } = message ?? {};
      await one.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
      const { Messages: [again] = [] } = await one.send(receive);
      expect(again?.Body).toBe('x');
      await two.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: again?.ReceiptHandle }));
      const empty = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 0 });
      expect((await one.send(empty)).Messages).toBeUndefined();
    });

    it('of two that make a queue at once with different attributes one wins, and the other hears why not', async () => {
      for (let i = 0; i < 10; i++) {
        const QueueName = `raced-${i}`;
        const made = await Promise.allSettled(
          [one, two].map((client, place) =>
            client.send(
              new CreateQueueCommand({ QueueName, Attributes: { VisibilityTimeout: `${place + 1}` } }),
            ),
          ),
        );
        const refused = made.filter((each) => each.status === 'rejected');
        expect(refused.map(({ reason }) => (reason as Error).name)).toEqual(['QueueNameExists']);
      }
    });

    it('a FIFO group that is out on one node is not handed out on the other', async () => {
      const QueueName = 'ordered.fifo';
      const Attributes = { FifoQueue: 'true', ContentBasedDeduplication: 'true' };
      const { QueueUrl } = await one.send(new CreateQueueCommand({ QueueName, Attributes }));
      for (const [at, client] of [one, two, one, two].entries())
        await client.send(new SendMessageCommand({ QueueUrl, MessageBody: `${at}`, MessageGroupId: 'g' }));
      const seen: (string | undefined)[] = [];
      for (const [taker, other] of [
        [one, two],
        [two, one],
        [one, two],
        [two, one],
      ] as const) {
        const take = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 });
        const { Messages: [message] = [] } = await taker.send(take);
        seen.push(message?.Body);
        const look = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 0 });
        expect((await other.send(look)).Messages).toBeUndefined();
        await other.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message?.ReceiptHandle }));
      }
      expect(seen).toEqual(['0', '1', '2', '3']);
    });
  });

  describe('Pub/Sub', () => {
    let one: Clients;
    let two: Clients;
    beforeAll(() => {
      [one, two] = ports('gcp').map(connectClients) as [Clients, Clients];
    });
    afterAll(() => Promise.all([one.close(), two.close()]));

    it('what one pulls the other acknowledges, for certain, and ordering keys hold', async () => {
      const [topic, subscription] = [topicName('two-nodes'), subscriptionName('two-nodes')];
      await one.publisher.createTopic({ name: topic });
      const ordered = { enableMessageOrdering: true, enableExactlyOnceDelivery: true };
      await two.subscriber.createSubscription({ name: subscription, topic, ...ordered });
      for (const client of [one, two, one])
        await client.publisher.publish({
          topic,
          messages: [{ data: Buffer.from('x'), orderingKey: 'k' }],
        });
      for (const [taker, other] of [
        [one, two],
        [two, one],
        [one, two],
      ] as const) {
        const [{ receivedMessages }] = await taker.subscriber.pull({ subscription, maxMessages: 1 });
        const ackIds = (receivedMessages ?? []).map(({ ackId }) => ackId ?? '');
        expect(ackIds).toHaveLength(1);
        await other.subscriber.acknowledge({ subscription, ackIds });
      }
    });
  });

  describe('AMQP', () => {
    let models: ChannelModel[];
    let one: Channel;
    let two: Channel;
    beforeAll(async () => {
      models = await Promise.all(ports('amqp').map((port) => connect(`amqp://127.0.0.1:${port}`)));
      [one, two] = (await Promise.all(models.map((model) => model.createChannel()))) as [Channel, Channel];
    });
    afterAll(() => Promise.all(models.map((model) => model.close())));

    it('an exclusive queue of one is locked for the other, and goes with its connection', async () => {
      const own = await connect(`amqp://127.0.0.1:${ports('amqp')[1]}`);
      await (await own.createChannel()).assertQueue('mine', { exclusive: true });
      const other = await (models[0] as ChannelModel).createChannel();
      const locked = new Promise<Error>((resolve) => other.once('error', resolve));
      await expect(other.checkQueue('mine')).rejects.toThrow('RESOURCE_LOCKED');
      expect((await locked).message).toContain('405');
      await own.close();
      await one.assertQueue('mine', { exclusive: false });
    });

    it('consumers on both share a queue, and a prefetch holds on each', async () => {
      await one.assertQueue('shared');
      const taken: [string[], string[]] = [[], []];
      for (const [place, channel] of [one, two].entries()) {
        await channel.prefetch(2);
        await channel.consume('shared', (message) => void taken[place]?.push(String(message?.content)));
      }
      for (let i = 0; i < 10; i++) two.sendToQueue('shared', Buffer.from(`${i}`));
      while (taken[0].length + taken[1].length < 4) await new Promise((resolve) => setImmediate(resolve));
      // A question behind everything: what was to come has come.
      expect((await two.checkQueue('shared')).messageCount).toBe(6);
      expect(taken.map((texts) => texts.length)).toEqual([2, 2]);
    });
  });

  it('native: what one sends the other receives, and a request is answered from the other node', async () => {
    const [one, two] = ports('native-grpc').map((port) => new NativeClient(`127.0.0.1:${port}`)) as [
      NativeClient,
      NativeClient,
    ];
    try {
      await one.send({ Channel: 'n', Body: Buffer.from('x') });
      expect((await two.receive('n')).Messages.map(({ Body }) => String(Body))).toEqual(['x']);
      const server = two.serve({ Channel: 'q' });
      const asked = (async () => {
        for (;;) {
          const question = { Channel: 'q', Body: Buffer.from('why'), Timeout: 300 };
          // The first ones may come before there is anybody to answer.
          const answer = await one.ask(question).catch(() => undefined);
          if (answer !== undefined) return answer;
        }
      })();
      void (async () => {
        for (let i = 0; ; i++) {
          const request = (await server.has(i + 1))[i];
          if (request !== undefined) await two.respond(request, { Body: Buffer.from('because') });
        }
      })().catch(() => undefined);
      expect(String((await asked).Body)).toBe('because');
      server.cancel();
    } finally {
      one.close();
      two.close();
    }
  });
});
