import { GetQueueAttributesCommand, type Message } from '@aws-sdk/client-sqs';
import { Consumer } from 'sqs-consumer';
import { Producer } from 'sqs-producer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Queues, startAwsServer, type AwsServer } from './aws-server.js';

/** The library most Node.js workers are written with, and its other half. */

let server: AwsServer;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer();
  queues = new Queues(server);
});
afterAll(() => server.stop());

async function countsOf(url: string): Promise<{ readonly ready: string; readonly inFlight: string }> {
  const { Attributes = {} } = await server.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }),
  );
  return {
    ready: Attributes['ApproximateNumberOfMessages'] ?? '',
    inFlight: Attributes['ApproximateNumberOfMessagesNotVisible'] ?? '',
  };
}

function until(done: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (done()) resolve();
      else setTimeout(look, 5);
    };
    look();
  });
}

function stopped(consumer: Consumer): Promise<void> {
  return new Promise((resolve) => {
    consumer.once('stopped', () => resolve());
    consumer.stop();
  });
}

describe('sqs-producer and sqs-consumer', () => {
  it('carry messages one by one, and leave nothing behind', async () => {
    const url = await queues.create();
    const producer = Producer.create({ queueUrl: url, sqs: server.sqs });
    const sent = await producer.send(Array.from({ length: 25 }, (_, i) => `message-${i}`));
    expect(sent).toHaveLength(25);
    await producer.send({
      id: 'typed',
      body: 'typed',
      messageAttributes: { kind: { DataType: 'String', StringValue: 'order' } },
    });
    const seen: Message[] = [];
    const consumer = Consumer.create({
      queueUrl: url,
      sqs: server.sqs,
      batchSize: 10,
      waitTimeSeconds: 1,
      messageAttributeNames: ['All'],
      messageSystemAttributeNames: ['SentTimestamp'],
      handleMessage: (message) => {
        seen.push(message);
        return Promise.resolve(message);
      },
    });
    const errors: unknown[] = [];
    consumer.on('error', (error) => errors.push(error));
    consumer.start();
    await until(() => seen.length === 26);
    await stopped(consumer);
    expect(errors).toEqual([]);
    expect(new Set(seen.map(({ Body }) => Body)).size).toBe(26);
    expect(seen.find(({ Body }) => Body === 'typed')?.MessageAttributes).toMatchObject({
      kind: { StringValue: 'order' },
    });
    expect(await countsOf(url)).toEqual({ ready: '0', inFlight: '0' });
  });

  it('handle whole batches, and get back what a handler failed with', async () => {
    const url = await queues.create();
    const producer = Producer.create({ queueUrl: url, sqs: server.sqs });
    await producer.send(['a', 'b', 'c']);
    const batches: (string | undefined)[][] = [];
    const failures: unknown[] = [];
    const consumer = Consumer.create({
      queueUrl: url,
      sqs: server.sqs,
      batchSize: 10,
      waitTimeSeconds: 1,
      terminateVisibilityTimeout: true,
      handleMessageBatch: (messages) => {
        batches.push(messages.map(({ Body }) => Body));
        return batches.length === 1 ? Promise.reject(new Error('not yet')) : Promise.resolve(messages);
      },
    });
    consumer.on('processing_error', (error) => failures.push(error));
    consumer.on('error', (error) => failures.push(error));
    consumer.start();
    await until(() => batches.flat().length === 6);
    await stopped(consumer);
    expect(failures).toHaveLength(1);
    expect(batches.slice(1).flat().sort()).toEqual(['a', 'b', 'c']);
    expect(await countsOf(url)).toEqual({ ready: '0', inFlight: '0' });
  });

  it('keep a message hidden by heartbeats while it is worked on', async () => {
    const url = await queues.create({ VisibilityTimeout: '1' });
    await queues.send(url, 'slow');
    let handled = 0;
    const consumer = Consumer.create({
      queueUrl: url,
      sqs: server.sqs,
      waitTimeSeconds: 1,
      visibilityTimeout: 2,
      heartbeatInterval: 1,
      handleMessage: async (message) => {
        handled++;
        await new Promise((resolve) => setTimeout(resolve, 2_600));
        return message;
      },
    });
    const other = Consumer.create({
      queueUrl: url,
      sqs: server.sqs,
      waitTimeSeconds: 1,
      handleMessage: (message) => {
        handled++;
        return Promise.resolve(message);
      },
    });
    let processed = false;
    consumer.on('message_processed', () => (processed = true));
    consumer.start();
    await until(() => handled === 1);
    other.start();
    await until(() => processed);
    await Promise.all([stopped(consumer), stopped(other)]);
    expect(handled).toBe(1);
    expect(await countsOf(url)).toEqual({ ready: '0', inFlight: '0' });
  });

  it('stop at once when told to, in the middle of a long poll, and lose nothing', async () => {
    const url = await queues.create();
    const consumer = Consumer.create({
      queueUrl: url,
      sqs: server.sqs,
      waitTimeSeconds: 20,
      handleMessage: (message) => Promise.resolve(message),
    });
    // It says so when it gives up its poll.
    consumer.on('error', () => undefined);
    consumer.start();
    await until(() => (server.connector.status().counters['waiting_receives'] ?? 0) > 0);
    const ended = new Promise<void>((resolve) => consumer.once('stopped', () => resolve()));
    consumer.stop({ abort: true });
    await ended;
    await until(() => server.connector.status().counters['waiting_receives'] === 0);
    await queues.send(url, 'after');
    expect(await countsOf(url)).toEqual({ ready: '1', inFlight: '0' });
  });
});
