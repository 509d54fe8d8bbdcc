import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  GetQueueAttributesCommand,
  ListQueueTagsCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import {
  GetSubscriptionAttributesCommand,
  GetTopicAttributesCommand,
  ListSubscriptionsCommand,
  PublishCommand,
  SNSClient,
} from '@aws-sdk/client-sns';
import { connect, type ChannelModel } from 'amqplib';
import { afterEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/app/read-config.js';
import type { RunningBroker } from '../../src/app/index.js';
import { temporaryFolder } from '../support/folder.js';
import { startServer, urlOf } from '../support/server.js';

const started: RunningBroker[] = [];
const folders: { remove(): void }[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop(0);
  for (const folder of folders.splice(0)) folder.remove();
});

function folder(): string {
  const made = temporaryFolder();
  folders.push(made);
  return made.path;
}

/** The product with what a configuration file declares, over a store that stays. */
async function start(store: string, yaml: string): Promise<RunningBroker> {
  const file = join(folder(), 'polymq.yaml');
  writeFileSync(file, yaml);
  const { config } = await readConfig({ flags: new Map(), file, environment: {}, all: false });
  const { aws, amqp, pubSub } = config.connectors;
  const server = await startServer({
    connectors: ['aws', 'amqp', 'gcp'],
    folder: store,
    config: {
      connectors: {
        aws: { queues: aws.queues, topics: aws.topics },
        pubSub: { topics: pubSub.topics, subscriptions: pubSub.subscriptions },
        amqp: { exchanges: amqp.exchanges, queues: amqp.queues, bindings: amqp.bindings },
      },
    },
  });
  started.push(server);
  return server;
}

async function stopped(): Promise<void> {
  for (const server of started.splice(0)) await server.stop();
}

function clients(server: RunningBroker): { readonly sqs: SQSClient; readonly sns: SNSClient } {
  const endpoint = urlOf(server, 'aws');
  const options = { endpoint, region: 'r', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };
  return { sqs: new SQSClient(options), sns: new SNSClient(options) };
}

async function attributesOf(sqs: SQSClient, queue: string): Promise<Record<string, string>> {
  const answer = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: queue, AttributeNames: ['All'] }));
  return answer.Attributes ?? {};
}

const YAML = `
connectors:
  aws:
    queues:
      - name: orders
        attributes: { VisibilityTimeout: 60, SqsManagedSseEnabled: false }
        tags: { team: shop }
        deadLetter: { queue: orders-dlq, maxReceiveCount: 3 }
      - name: orders-dlq
        attributes:
          RedriveAllowPolicy:
            redrivePermission: byQueue
            sourceQueueArns: ['arn:aws:sqs:kubemq:000000000000:orders']
      - { name: tasks.fifo, attributes: { ContentBasedDeduplication: true } }
    topics:
      - name: news
        attributes: { DisplayName: News }
        subscriptions:
          - queue: orders
            attributes: { RawMessageDelivery: true, FilterPolicy: { kind: [order] } }
      - { name: events.fifo, subscriptions: [{ queue: tasks.fifo }] }
`;

describe('queues and topics of the configuration file', () => {
  it('are there when the broker is, with all that is said about them', async () => {
    const { sqs, sns } = clients(await start(folder(), YAML));
    const { QueueUrls } = await sqs.send(new ListQueuesCommand({}));
    expect(QueueUrls?.map((url) => url.split('/').pop())).toEqual(['orders', 'orders-dlq', 'tasks.fifo']);
    const orders = await attributesOf(sqs, 'orders');
    expect(orders).toMatchObject({ VisibilityTimeout: '60', SqsManagedSseEnabled: 'false' });
    expect(JSON.parse(orders['RedrivePolicy'] ?? '')).toEqual({
      deadLetterTargetArn: 'arn:aws:sqs:kubemq:000000000000:orders-dlq',
      maxReceiveCount: 3,
    });
    expect((await sqs.send(new ListQueueTagsCommand({ QueueUrl: 'orders' }))).Tags).toEqual({ team: 'shop' });
    expect(await attributesOf(sqs, 'tasks.fifo')).toMatchObject({
      FifoQueue: 'true',
      ContentBasedDeduplication: 'true',
    });

    const TopicArn = 'arn:aws:sns:kubemq:000000000000:news';
    const topic = await sns.send(new GetTopicAttributesCommand({ TopicArn }));
    expect(topic.Attributes).toMatchObject({ DisplayName: 'News', SubscriptionsConfirmed: '1' });
    for (const kind of ['order', 'other']) {
      const MessageAttributes = { kind: { DataType: 'String', StringValue: kind } };
      await sns.send(new PublishCommand({ TopicArn, Message: kind, MessageAttributes }));
    }
    const { Messages } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: 'orders', MaxNumberOfMessages: 10 }),
    );
    expect(Messages?.map(({ Body }) => Body)).toEqual(['order']);
  });

  it('stay as they are at the next start, and messages with them', async () => {
    const store = folder();
    const first = clients(await start(store, YAML)).sqs;
    await first.send(new SendMessageCommand({ QueueUrl: 'orders', MessageBody: 'kept' }));
    const before = await attributesOf(first, 'orders');
    await stopped();
    const { sqs, sns } = clients(await start(store, YAML));
    expect(await attributesOf(sqs, 'orders')).toEqual(before);
    expect((await sns.send(new ListSubscriptionsCommand({}))).Subscriptions).toHaveLength(2);
  });

  it('are set again to what the file says, and only that', async () => {
    const store = folder();
    const { sqs: first } = clients(await start(store, YAML));
    await first.send(
      new SetQueueAttributesCommand({
        QueueUrl: 'orders',
        Attributes: { VisibilityTimeout: '5', DelaySeconds: '7' },
      }),
    );
    await stopped();
    const changed = YAML.replace('RawMessageDelivery: true', 'RawMessageDelivery: false')
      .replace('DisplayName: News', 'DisplayName: More news')
      .replace('team: shop', 'team: store, size: big');
    const { sqs, sns } = clients(await start(store, changed));
    expect(await attributesOf(sqs, 'orders')).toMatchObject({ VisibilityTimeout: '60', DelaySeconds: '7' });
    expect((await sqs.send(new ListQueueTagsCommand({ QueueUrl: 'orders' }))).Tags).toEqual({
      team: 'store',
      size: 'big',
    });
    const TopicArn = 'arn:aws:sns:kubemq:000000000000:news';
    const topic = await sns.send(new GetTopicAttributesCommand({ TopicArn }));
    expect(topic.Attributes).toMatchObject({ DisplayName: 'More news' });
    const { Subscriptions = [] } = await sns.send(new ListSubscriptionsCommand({}));
    const SubscriptionArn = Subscriptions.find(({ Endpoint }) =>
      Endpoint?.endsWith(':orders'),
    )?.SubscriptionArn;
    const read = await sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
    expect(read.Attributes).toMatchObject({
      RawMessageDelivery: 'false',
      FilterPolicy: '{"kind":["order"]}',
    });
  });

  it.each([
    [
      'a value',
      'queues: [{ name: a, attributes: { DelaySeconds: 901 } }]',
      'queues[0] (a): Invalid value for the parameter DelaySeconds.',
    ],
    ['a name', 'queues: [{ name: a b }]', 'queues[0] (a b): Can only include alphanumeric characters'],
    [
      'a dead-letter queue',
      'queues: [{ name: a, deadLetter: { queue: none, maxReceiveCount: 1 } }]',
      'queues[0] (a): The specified queue does not exist.',
    ],
    ['an attribute', 'topics: [{ name: t, attributes: { What: 1 } }]', 'topics[0] (t): Invalid parameter: '],
    [
      'a filter',
      'topics: [{ name: t, subscriptions: [{ queue: q, attributes: { FilterPolicy: { a: 1 } } }] }]',
      'topics[0] (t).subscriptions[0]: Invalid parameter: ',
    ],
  ])('stop the start when %s is no good, by their place', async (_what, yaml, message) => {
    const text = `connectors:\n  aws:\n    ${yaml}\n`;
    await expect(start(folder(), text)).rejects.toThrow(`aws cannot start: connectors.aws.${message}`);
  });

  it('are refused by their line when the file is not of the right form', async () => {
    const file = join(folder(), 'polymq.yaml');
    writeFileSync(
      file,
      'connectors:\n  aws:\n    queues:\n      - nam: a\n    topics:\n      - name: t\n        subscriptions: [{}]\n',
    );
    const read = readConfig({ flags: new Map(), file, environment: {}, all: false });
    await expect(read).rejects.toThrow(/connectors\.aws\.queues\[0\]\.name \(.*polymq\.yaml:4\): /);
    await expect(read).rejects.toThrow(
      /connectors\.aws\.topics\[0\]\.subscriptions\[0\] \(.*polymq\.yaml:7\): needs either queue or url/,
    );
  });
});

const AMQP = `
connectors:
  amqp:
    exchanges:
      - { name: events, type: topic }
      - { name: all, type: fanout, vhost: shop }
    queues:
      - { name: orders, arguments: { x-max-length: 10, x-dead-letter-exchange: '' } }
      - { name: log, vhost: shop }
    bindings:
      - { source: events, destination: orders, routingKey: 'order.*' }
      - { source: all, destination: log, vhost: shop }
`;

describe('exchanges, queues and bindings of the configuration file', () => {
  async function connection(server: RunningBroker, vhost = '/'): Promise<ChannelModel> {
    const { port } = server.address('amqp');
    return connect({ hostname: '127.0.0.1', port, username: 'guest', password: 'guest', vhost });
  }

  it('are there when the broker is, at every start', async () => {
    const store = folder();
    for (let run = 0; run < 2; run++) {
      const server = await start(store, AMQP);
      const [first, other] = [await connection(server), await connection(server, 'shop')];
      const channel = await first.createConfirmChannel();
      channel.publish('events', 'order.new', Buffer.from('x'));
      channel.publish('events', 'user.new', Buffer.from('y'));
      await channel.waitForConfirms();
      // Declared with the same arguments: a difference would close the channel.
      const { messageCount } = await channel.assertQueue('orders', { maxLength: 10, deadLetterExchange: '' });
      expect(messageCount).toBe(run + 1);
      const shop = await other.createConfirmChannel();
      shop.publish('all', '', Buffer.from('z'));
      await shop.waitForConfirms();
      expect((await shop.checkQueue('log')).messageCount).toBe(run + 1);
      await Promise.all([first.close(), other.close()]);
      await stopped();
    }
  });

  it.each([
    ['queues: [{ name: amq.mine }]', 'queues[0] (amq.mine): '],
    ['exchanges: [{ name: e, type: strange }]', 'exchanges[0] (e): '],
    ['bindings: [{ source: none, destination: q }]', 'bindings[0] (none to q): '],
  ])('stop the start by their place: %s', async (yaml, message) => {
    const text = `connectors:\n  amqp:\n    ${yaml}\n`;
    await expect(start(folder(), text)).rejects.toThrow(`amqp cannot start: connectors.amqp.${message}`);
  });

  it('stop the start when what is there differs', async () => {
    const store = folder();
    await start(store, AMQP);
    await stopped();
    await expect(start(store, AMQP.replace('x-max-length: 10', 'x-max-length: 11'))).rejects.toThrow(
      "connectors.amqp.queues[0] (orders): inequivalent arg 'x-max-length'",
    );
  });
});

const PUB_SUB = `
connectors:
  pubSub:
    topics:
      - { name: orders, labels: { team: shop } }
    subscriptions:
      - { name: billing, topic: orders, ackDeadlineSeconds: 60, filter: 'attributes.kind = "order"' }
      - { name: projects/other/subscriptions/all, topic: projects/other/topics/orders }
`;

describe('topics and subscriptions of Pub/Sub in the configuration file', () => {
  async function call(server: RunningBroker, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${urlOf(server, 'gcp')}/v1/projects/polymq/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Record<string, unknown>;
  }

  it('are there when the broker is, stay at the next start, and follow the file', async () => {
    const store = folder();
    const first = await start(store, PUB_SUB);
    expect(await call(first, 'topics/orders')).toMatchObject({ labels: { team: 'shop' } });
    expect(await call(first, 'subscriptions/billing')).toMatchObject({
      ackDeadlineSeconds: 60,
      filter: 'attributes.kind = "order"',
    });
    const messages = ['order', 'other'].map((kind) => ({ data: 'eA==', attributes: { kind } }));
    await call(first, 'topics/orders:publish', { messages });
    await stopped();
    const changed = PUB_SUB.replace('ackDeadlineSeconds: 60', 'ackDeadlineSeconds: 30').replace(
      'shop',
      'store',
    );
    const second = await start(store, changed);
    expect(await call(second, 'topics/orders')).toMatchObject({ labels: { team: 'store' } });
    expect(await call(second, 'subscriptions/billing')).toMatchObject({ ackDeadlineSeconds: 30 });
    for (const [name, count] of [
      ['billing', 1],
      ['all', 2],
    ] as const) {
      const pulled = await call(second, `subscriptions/${name}:pull`, { maxMessages: 10 });
      expect(pulled['receivedMessages']).toHaveLength(count);
    }
  });

  it.each([
    ['topics: [{ name: goog }]', 'topics[0] (goog): '],
    ['topics: [{ name: orders, what: 1 }]', 'topics[0] (orders): '],
    ['subscriptions: [{ name: sub-one, topic: nowhere }]', 'subscriptions[0] (sub-one): '],
    ['subscriptions: [{ name: sub-one, topic: t, ackDeadlineSeconds: 5 }]', 'subscriptions[0] (sub-one): '],
  ])('stop the start by their place: %s', async (yaml, message) => {
    const text = `connectors:\n  pubSub:\n    ${yaml}\n`;
    await expect(start(folder(), text)).rejects.toThrow(`gcp cannot start: connectors.pubSub.${message}`);
  });

  it('stop the start when what cannot be changed differs', async () => {
    const store = folder();
    await start(store, PUB_SUB);
    await stopped();
    await expect(start(store, PUB_SUB.replace('"order"', '"bill"'))).rejects.toThrow(
      'connectors.pubSub.subscriptions[0] (billing): ',
    );
  });
});
