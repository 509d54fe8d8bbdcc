import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/folder.js';
import { spawnBroker, type BrokerProcess } from '../../support/process.js';
import { startServer } from '../../support/server.js';
import { CREDENTIALS } from './aws-server.js';
import { confirm, Hook, queueArn, Topics } from './sns-rig.js';

const folder = temporaryFolder();
const clients: { destroy(): void }[] = [];
let broker: BrokerProcess | undefined;
let hook: Hook | undefined;

async function start(): Promise<{ sns: SNSClient; sqs: SQSClient; topics: Topics }> {
  broker = await spawnBroker({
    folder: folder.path,
    args: [],
    environment: { CONNECTORS_AWS_ENABLE: 'true', SHUTDOWN_GRACE_MS: '300' },
  });
  const endpoint = `http://127.0.0.1:${broker.port('aws')}`;
  const options = { endpoint, region: 'us-east-1', credentials: CREDENTIALS };
  const sns = new SNSClient(options);
  const sqs = new SQSClient(options);
  clients.push(sns, sqs);
  return { sns, sqs, topics: new Topics({ sns }) };
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await broker?.kill();
  await hook?.stop();
});
afterAll(() => folder.remove());

// Retries after a second, so that the test waits for little but the broker.
const DeliveryPolicy = JSON.stringify({
  healthyRetryPolicy: { numRetries: 50, numNoDelayRetries: 0, minDelayTarget: 1, maxDelayTarget: 1 },
});

describe('killed in the middle of replays', () => {
  it('goes on where each was, and brings every message once', async () => {
    const before = await start();
    const fifo = { FifoQueue: 'true' };
    await before.sqs.send(new CreateQueueCommand({ QueueName: 'r.fifo', Attributes: fifo }));
    const ArchivePolicy = '{"MessageRetentionPeriod":"1"}';
    const topic = await before.topics.create({ FifoTopic: 'true', ArchivePolicy }, 'r');
    const texts = Array.from({ length: 350 }, (_, i) => String(i));
    for (const text of texts) {
      await before.topics.publish(topic, text, { MessageGroupId: 'g', MessageDeduplicationId: text });
    }
    const policy = { PointType: 'Timestamp', StartingPoint: '2020-01-01T00:00:00Z' };
    const arn = await before.topics.subscribe(topic, queueArn('r.fifo'), {
      RawMessageDelivery: 'true',
      ReplayPolicy: JSON.stringify(policy),
    });
    await broker?.kill('SIGKILL');

    const { sqs, topics } = await start();
    while ((await topics.attributesOf(arn))['ReplayStatus'] !== 'Completed') {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await topics.publish(topic, 'new', { MessageGroupId: 'g', MessageDeduplicationId: 'new' });
    const got: (string | undefined)[] = [];
    const receive = new ReceiveMessageCommand({ QueueUrl: 'r.fifo', MaxNumberOfMessages: 10 });
    for (;;) {
      const { Messages = [] } = await sqs.send(receive);
      if (Messages.length === 0) break;
      for (const { Body, ReceiptHandle } of Messages) {
        got.push(Body);
        await sqs.send(new DeleteMessageCommand({ QueueUrl: 'r.fifo', ReceiptHandle }));
      }
    }
    expect(got).toEqual([...texts, 'new']);
  });
});

describe('killed with deliveries to come', () => {
  it('posts every notification after the restart, signed with the same key, and keeps FIFO duplicates', async () => {
    const before = await start();
    hook = await Hook.start();
    const topic = await before.topics.create();
    await before.topics.subscribe(topic, hook.url, { DeliveryPolicy });
    await confirm(hook);
    await before.sqs.send(new CreateQueueCommand({ QueueName: 'f.fifo', Attributes: { FifoQueue: 'true' } }));
    const fifo = await before.topics.create({ FifoTopic: 'true' }, 'f');
    await before.topics.subscribe(fifo, queueArn('f.fifo'), { RawMessageDelivery: 'true' });
    const ids = { MessageGroupId: 'g', MessageDeduplicationId: 'd' };
    const original = await before.topics.publish(fifo, 'once', ids);
    // The endpoint fails: what it was asked once is asked again, and the rest was never asked.
    hook.answer = () => 503;
    const published: (string | undefined)[] = [];
    for (let i = 0; i < 20; i++) {
      published.push(
        (await before.sns.send(new PublishCommand({ TopicArn: topic, Message: `m${i}` }))).MessageId,
      );
    }
    await hook.post(2);
    const { SigningCertURL: first } = JSON.parse((await hook.post(2)).body) as { SigningCertURL: string };
    await broker?.kill('SIGKILL');
    const seen = hook.posts.length;

    hook.answer = () => 200;
    const after = await start();
    const taken = new Set<string>();
    for (let nth = seen + 1; taken.size < published.length; nth++) {
      const { MessageId, SigningCertURL } = JSON.parse((await hook.post(nth)).body) as Record<string, string>;
      taken.add(MessageId ?? '');
      expect(new URL(SigningCertURL ?? '').pathname).toBe(new URL(first).pathname);
    }
    expect(taken).toEqual(new Set(published));
    expect(await after.topics.publish(fifo, 'once', ids)).toMatchObject({
      MessageId: original.MessageId,
      SequenceNumber: original.SequenceNumber,
    });
    const receive = new ReceiveMessageCommand({ QueueUrl: 'f.fifo', MaxNumberOfMessages: 10 });
    expect((await after.sqs.send(receive)).Messages?.map(({ Body }) => Body)).toEqual(['once']);
    // Graceful this time, with a delivery under way that nobody answers.
    hook.answer = () => new Promise(() => undefined);
    const count = hook.posts.length;
    await after.topics.publish(topic, 'last');
    await hook.post(count + 1);
    expect(await broker?.kill('SIGTERM')).toMatchObject({ code: 0 });
    hook.answer = () => 200;
    const again = await startServer({ connectors: ['aws'], folder: folder.path, alone: true });
    try {
      expect(JSON.parse((await hook.post(count + 2)).body)).toMatchObject({ Message: 'last' });
    } finally {
      await again.stop();
    }
  });
});
