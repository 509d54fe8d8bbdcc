import { ChangeMessageVisibilityCommand, DeleteMessageCommand, PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import {
  bodies,
  pass,
  Queues,
  refusal,
  startAwsServer,
  whileTimePasses,
  type AwsServer,
} from './aws-server.js';

const clock = new ManualClock();
let server: AwsServer;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer({ clock, config: { inFlightMax: 3 } });
  queues = new Queues(server);
});
afterAll(() => server.stop());

const FIFO = { FifoQueue: 'true', ContentBasedDeduplication: 'true', VisibilityTimeout: '10' };
const again = { ReceiveRequestAttemptId: 'try-1' };

async function filled(): Promise<string> {
  const url = await queues.create(FIFO);
  for (const body of ['1', '2']) await queues.send(url, body, { MessageGroupId: 'g' });
  return url;
}

describe('a receive of a FIFO queue with an attempt id', () => {
  it('gives the same messages and handles again and hides them anew', async () => {
    const url = await filled();
    const first = await queues.receive(url, again);
    expect(bodies(first)).toEqual(['1', '2']);
    await pass(clock, 8_000);
    expect(await queues.receive(url, again)).toEqual(first);
    expect(await queues.receive(url, { ReceiveRequestAttemptId: 'try-2' })).toEqual([]);
    await pass(clock, 8_000);
    expect(await queues.receive(url)).toEqual([]);
    const [one] = first;
    await server.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: one?.ReceiptHandle }));
  });

  it.each(['delete', 'change'])('cannot be repeated after a %s', async (what) => {
    const url = await filled();
    const [one] = await queues.receive(url, again);
    const of = { QueueUrl: url, ReceiptHandle: one?.ReceiptHandle };
    if (what === 'delete') await server.sqs.send(new DeleteMessageCommand(of));
    else await server.sqs.send(new ChangeMessageVisibilityCommand({ ...of, VisibilityTimeout: 20 }));
    expect(await refusal(queues.receive(url, again))).toMatchObject({
      code: 'InvalidParameterValue',
      message: expect.stringContaining('not retryable') as string,
    });
    await pass(clock, 301_000);
    expect(bodies(await queues.receive(url, again))).toEqual(what === 'delete' ? ['2'] : ['1', '2']);
  });

  it('is a new one when the messages are visible again, and of another queue', async () => {
    const url = await filled();
    const [first] = await queues.receive(url, again);
    await pass(clock, 11_000);
    const [second] = await queues.receive(url, again);
    expect(second?.MessageId).toBe(first?.MessageId);
    expect(second?.ReceiptHandle).not.toBe(first?.ReceiptHandle);
    expect(await queues.receive(await queues.create(FIFO), again)).toEqual([]);
  });
});

describe('messages in flight', () => {
  it('are bounded: a short poll of a standard queue is told, others find nothing', async () => {
    const url = await queues.create();
    for (const body of ['1', '2', '3', '4']) await queues.send(url, body);
    await queues.receive(url, { MaxNumberOfMessages: 3 });
    expect(await refusal(queues.receive(url))).toMatchObject({ code: 'OverLimit', status: 403 });
    const poll = queues.receive(url, { WaitTimeSeconds: 1 });
    expect(await whileTimePasses(clock, poll)).toEqual([]);
    await server.sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
    await queues.send(url, '5');
    expect(bodies(await queues.receive(url))).toEqual(['5']);
    const fifo = await queues.create(FIFO);
    for (const group of ['a', 'b', 'c', 'd']) await queues.send(fifo, group, { MessageGroupId: group });
    expect(await queues.receive(fifo, { MaxNumberOfMessages: 3 })).toHaveLength(3);
    expect(await queues.receive(fifo)).toEqual([]);
  });
});
