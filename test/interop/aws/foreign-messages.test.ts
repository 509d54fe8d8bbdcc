import { DeleteMessageCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { CreateTopicCommand, PublishCommand, SubscribeCommand } from '@aws-sdk/client-sns';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { channelName } from '../../../src/core/channel-name.js';
import type { OutgoingMessage } from '../../../src/core/message.js';
import { bodies, Queues, startAwsServer, type AwsServer } from './aws-server.js';

let server: AwsServer;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer();
  queues = new Queues(server);
});
afterAll(() => server.stop());

const native = (channel: string, body: string | Uint8Array, more: Partial<OutgoingMessage> = {}) =>
  server.broker.send([{ channel: channelName(channel), body: Buffer.from(body), ...more }]);

async function take(channel: string) {
  const [delivery] = await server.broker.receive({
    channel: channelName(channel),
    max: 1,
    waitMs: 0,
    handOut: { kind: 'auto' },
  });
  if (delivery === undefined) throw new Error('nothing there');
  return delivery.message;
}

describe('messages of other protocols', () => {
  it('come with their text, tags and the id of the broker', async () => {
    const url = await queues.create({}, 'orders');
    await native('sqs.orders', 'hällo', { id: 'native-7', tags: new Map([['color', 'red']]) });
    const [message] = await queues.receive(url, { MessageAttributeNames: ['All'] });
    expect(message).toMatchObject({
      MessageId: 'native-7',
      Body: 'hällo',
      MessageAttributes: { color: { DataType: 'String', StringValue: 'red' } },
      Attributes: { ApproximateReceiveCount: '1' },
    });
    expect(message?.Attributes).not.toHaveProperty('SenderId');
    await server.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message?.ReceiptHandle }));
  });

  it('come as base64 when they are no text', async () => {
    const url = await queues.create({}, 'bytes');
    await native('sqs.bytes', new Uint8Array([0, 255]));
    const [message] = await queues.receive(url, { MessageAttributeNames: ['All'] });
    expect(message?.Body).toBe('AP8=');
    expect(message?.MessageAttributes).toEqual({
      'polymq.encoding': { DataType: 'String', StringValue: 'base64' },
    });
  });

  it('have the group of their sub-channel', async () => {
    const url = await queues.create({ FifoQueue: 'true' }, 'tasks');
    await native('sqs.tasks.fifo.g.order%2F42', 'x');
    const [message] = await queues.receive(url);
    expect(message?.Attributes).toMatchObject({ MessageGroupId: 'order/42' });
  });
});

describe('messages of SQS and SNS to other protocols', () => {
  it('come with the tags of the mapping and the body as it was', async () => {
    const url = await queues.create({}, 'out');
    const sent = await queues.send(url, 'hällo', {
      MessageAttributes: {
        n: { DataType: 'Number', StringValue: '1' },
        b: { DataType: 'Binary', BinaryValue: Buffer.from([0, 1]) },
      },
    });
    const message = await take('sqs.out');
    expect(Buffer.from(message.body).toString()).toBe('hällo');
    expect(message.id).toBe(sent.MessageId);
    expect(message.clientId).toBe('AKIDEXAMPLE');
    expect(Object.fromEntries(message.tags)).toEqual({
      sqs_message_id: sent.MessageId,
      sqs_sender_id: 'AKIDEXAMPLE',
      sqs_attr_n: 'Number|1',
      sqs_attr_b: 'Binary|AAE=',
    });
  });

  it('say topic and subject when they were delivered raw', async () => {
    await queues.create({}, 'raw');
    const { TopicArn } = await server.sns.send(new CreateTopicCommand({ Name: 'news' }));
    const subscription = {
      TopicArn,
      Protocol: 'sqs',
      Endpoint: 'arn:aws:sqs:kubemq:000000000000:raw',
      Attributes: { RawMessageDelivery: 'true' },
    };
    await server.sns.send(new SubscribeCommand(subscription));
    await server.sns.send(new PublishCommand({ TopicArn, Message: 'x', Subject: 'S' }));
    const { tags } = await take('sqs.raw');
    expect(tags.get('sns_topic_arn')).toBe(TopicArn);
    expect(tags.get('sns_subject')).toBe('S');
  });
});

describe('an alias', () => {
  it('makes an SQS queue and a channel of another protocol one', async () => {
    const shared = channelName('amqp.default.shared');
    await server.broker.change([
      { do: 'create-queue', channel: shared, settings: { maxPriority: 5 } },
      { do: 'set-alias', alias: channelName('sqs.shared'), channel: shared },
    ]);
    const url = await queues.create({}, 'shared');
    const attributes = new SetQueueAttributesCommand({
      QueueUrl: url,
      Attributes: { VisibilityTimeout: '7' },
    });
    await server.sqs.send(attributes);
    await queues.send(url, 'in by SQS');
    expect(Buffer.from((await take('amqp.default.shared')).body).toString()).toBe('in by SQS');
    await native('amqp.default.shared', 'out by SQS');
    const [message] = await queues.receive(url);
    expect(message?.Body).toBe('out by SQS');
    await server.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message?.ReceiptHandle }));
    expect(server.broker.queueStats(shared)).toMatchObject({
      ready: 0,
      inFlight: 0,
      settings: { maxPriority: 5, retentionMs: 0 },
    });
  });
});

it('an alias gives dead letters away for as long as its RedrivePolicy says so', async () => {
  const shared = channelName('amqp.default.redriven');
  await server.broker.change([
    { do: 'create-queue', channel: shared, settings: {} },
    { do: 'set-alias', alias: channelName('sqs.redriven'), channel: shared },
  ]);
  const QueueUrl = await queues.create({}, 'redriven');
  const dead = await queues.create({}, 'redriven-dead');
  const set = (RedrivePolicy: string) =>
    server.sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy } }));
  const deadLetterTargetArn = 'arn:aws:sqs:kubemq:000000000000:redriven-dead';
  await set(JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 }));
  await queues.send(QueueUrl, 'given away');
  await queues.receive(QueueUrl, { VisibilityTimeout: 0 });
  expect(bodies(await queues.receive(dead))).toEqual(['given away']);
  await set('');
  await queues.send(QueueUrl, 'kept');
  await queues.receive(QueueUrl, { VisibilityTimeout: 0 });
  expect(bodies(await queues.receive(QueueUrl))).toEqual(['kept']);
});

describe('the end of service', () => {
  it('ends waiting receives with nothing and loses nothing', async () => {
    const other = await startAwsServer();
    const own = new Queues(other);
    const url = await own.create();
    const waiting = own.receive(url, { WaitTimeSeconds: 20 });
    await expect.poll(() => other.connector.status().counters['waiting_receives']).toBe(1);
    await other.connector.drain(5_000);
    expect(bodies(await waiting)).toEqual([]);
    await expect(own.send(url, 'late')).rejects.toThrow();
    await other.stop();
    await other.stop();
    expect(other.connector.status().connections).toBe(0);
  });

  it('answers what SDKs try again while the broker refuses', async () => {
    const other = await startAwsServer();
    const own = new Queues(other);
    const url = await own.create();
    other.broker.drain();
    await expect(own.send(url, 'x')).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      $metadata: { httpStatusCode: 503 },
      $fault: 'server',
    });
    await other.stop();
  });
});
