import {
  CancelMessageMoveTaskCommand,
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import type { ListMessageMoveTasksResultEntry, StartMessageMoveTaskCommandInput } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer, urlOf } from '../../support/server.js';
import { CREDENTIALS, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';

const ARN = 'arn:aws:sqs:kubemq:000000000000:';

/** A queue with a dead-letter queue that holds `bodies`, dead-lettered one after the other. */
async function deadLetters(sqs: SQSClient, bodies: readonly string[], fifo = false): Promise<void> {
  const end = fifo ? '.fifo' : '';
  const type = fifo ? { FifoQueue: 'true', ContentBasedDeduplication: 'true' } : {};
  await sqs.send(new CreateQueueCommand({ QueueName: `dead${end}`, Attributes: type }));
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: `${ARN}dead${end}`, maxReceiveCount: 1 });
  await sqs.send(new CreateQueueCommand({ QueueName: `work${end}`, Attributes: { ...type, RedrivePolicy } }));
  for (const body of bodies) {
    const MessageGroupId = fifo ? (body.split('-')[0] ?? '') : undefined;
    await sqs.send(new SendMessageCommand({ QueueUrl: `work${end}`, MessageBody: body, MessageGroupId }));
  }
  const receive = { QueueUrl: `work${end}`, MaxNumberOfMessages: 10, VisibilityTimeout: 0 };
  for (;;) {
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand(receive));
    if (Messages.length === 0) return;
  }
}

async function countOf(sqs: SQSClient, queue: string): Promise<number> {
  const AttributeNames = ['ApproximateNumberOfMessages'] as const;
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queue, AttributeNames: [...AttributeNames] }),
  );
  return Number(Attributes?.['ApproximateNumberOfMessages']);
}

async function tasksOf(sqs: SQSClient, SourceArn = `${ARN}dead`): Promise<ListMessageMoveTasksResultEntry[]> {
  return (await sqs.send(new ListMessageMoveTasksCommand({ SourceArn, MaxResults: 10 }))).Results ?? [];
}

let clock: ManualClock;
let server: AwsServer;
let sqs: SQSClient;

beforeEach(async () => {
  clock = new ManualClock();
  server = await startAwsServer({ clock });
  sqs = server.sqs;
});
afterEach(() => server.stop());

function start(more: Partial<StartMessageMoveTaskCommandInput> = {}) {
  return sqs.send(new StartMessageMoveTaskCommand({ SourceArn: `${ARN}dead`, ...more }));
}

/** Waits until the newest task has ended, without moving time. */
async function ended(SourceArn = `${ARN}dead`): Promise<ListMessageMoveTasksResultEntry> {
  for (let i = 0; i < 1_000; i++) {
    const [task] = await tasksOf(sqs, SourceArn);
    if (task !== undefined && task.Status !== 'RUNNING') return task;
  }
  throw new Error('the task goes on and on');
}

describe('message move tasks', () => {
  it('bring messages back to where they were dead-lettered from', async () => {
    const bodies = Array.from({ length: 25 }, (_, i) => `m${i}`);
    await deadLetters(sqs, bodies);
    expect(await countOf(sqs, 'dead')).toBe(25);
    expect((await start()).TaskHandle).toMatch(/^[A-Za-z0-9+/=]+$/);
    expect(await ended()).toMatchObject({
      Status: 'COMPLETED',
      SourceArn: `${ARN}dead`,
      ApproximateNumberOfMessagesMoved: 25,
      ApproximateNumberOfMessagesToMove: 25,
      StartedTimestamp: clock.now(),
    });
    const [task = {}] = await tasksOf(sqs);
    for (const absent of ['TaskHandle', 'DestinationArn', 'MaxNumberOfMessagesPerSecond', 'FailureReason']) {
      expect(task).not.toHaveProperty(absent);
    }
    expect([await countOf(sqs, 'dead'), await countOf(sqs, 'work')]).toEqual([0, 25]);
    const queues = new Queues(server);
    const [message] = await queues.receive('work', { MaxNumberOfMessages: 1 });
    expect(message?.Attributes?.['ApproximateReceiveCount']).toBe('1');
    expect(message?.Attributes).not.toHaveProperty('DeadLetterQueueSourceArn');
    expect(bodies).toContain(message?.Body);
  });

  it('keep the groups of FIFO queues and their order, also to another queue', async () => {
    await deadLetters(sqs, ['a-1', 'b-1', 'a-2', 'a-3', 'b-2'], true);
    await sqs.send(new CreateQueueCommand({ QueueName: 'other.fifo', Attributes: { FifoQueue: 'true' } }));
    await start({ SourceArn: `${ARN}dead.fifo`, DestinationArn: `${ARN}other.fifo` });
    expect(await ended(`${ARN}dead.fifo`)).toMatchObject({
      Status: 'COMPLETED',
      DestinationArn: `${ARN}other.fifo`,
      ApproximateNumberOfMessagesMoved: 5,
    });
    const messages = await new Queues(server).receive('other.fifo');
    const ofGroup = (group: string) =>
      messages.filter(({ Attributes }) => Attributes?.['MessageGroupId'] === group).map(({ Body }) => Body);
    expect([ofGroup('a'), ofGroup('b')]).toEqual([
      ['a-1', 'a-2', 'a-3'],
      ['b-1', 'b-2'],
    ]);
  });

  it('keep to their rate, run alone on their queue, and can be cancelled', async () => {
    await deadLetters(sqs, ['1', '2', '3', '4', '5', '6']);
    const { TaskHandle } = await start({ MaxNumberOfMessagesPerSecond: 2 });
    expect(await refusal(start())).toMatchObject({
      status: 400,
      message: expect.stringContaining('already a task running') as string,
    });
    await pass(clock, 1_500);
    const [running] = await tasksOf(sqs);
    expect(running).toMatchObject({
      Status: 'RUNNING',
      TaskHandle,
      MaxNumberOfMessagesPerSecond: 2,
      ApproximateNumberOfMessagesMoved: 3,
      ApproximateNumberOfMessagesToMove: 6,
    });
    const cancelled = await sqs.send(new CancelMessageMoveTaskCommand({ TaskHandle }));
    expect(cancelled.ApproximateNumberOfMessagesMoved).toBe(3);
    expect((await tasksOf(sqs))[0]?.Status).toBe('CANCELLED');
    await pass(clock, 5_000);
    expect([await countOf(sqs, 'dead'), await countOf(sqs, 'work')]).toEqual([3, 3]);
    expect(await refusal(sqs.send(new CancelMessageMoveTaskCommand({ TaskHandle })))).toMatchObject({
      code: 'ResourceNotFoundException',
      status: 404,
      message: 'Task does not exist.',
    });
  });

  it('list newest first, ten at most, and go with their queue', async () => {
    await deadLetters(sqs, []);
    for (let i = 0; i < 12; i++) {
      await start();
      await ended();
      clock.advance(1_000);
    }
    const times = (await tasksOf(sqs)).map(({ StartedTimestamp }) => StartedTimestamp ?? 0);
    expect(times).toHaveLength(10);
    expect(times).toEqual([...times].sort((a, b) => b - a));
    await sqs.send(new DeleteQueueCommand({ QueueUrl: 'dead' }));
    await sqs.send(new CreateQueueCommand({ QueueName: 'dead' }));
    expect(await tasksOf(sqs)).toEqual([]);
  });

  it('fail when their destination goes, or a message has no source; nothing is lost', async () => {
    await deadLetters(sqs, ['1', '2', '3']);
    await sqs.send(new CreateQueueCommand({ QueueName: 'gone' }));
    await start({ DestinationArn: `${ARN}gone`, MaxNumberOfMessagesPerSecond: 1 });
    await sqs.send(new DeleteQueueCommand({ QueueUrl: 'gone' }));
    await pass(clock, 1_500);
    expect(await ended()).toMatchObject({
      Status: 'FAILED',
      FailureReason: 'AWS.SimpleQueueService.NonExistentQueue',
    });
    expect(await countOf(sqs, 'dead')).toBe(3);
    await sqs.send(new SendMessageCommand({ QueueUrl: 'dead', MessageBody: 'sent here' }));
    await start();
    expect(await ended()).toMatchObject({
      Status: 'FAILED',
      FailureReason: 'CouldNotDetermineMessageSource',
      ApproximateNumberOfMessagesMoved: 3,
    });
    expect([await countOf(sqs, 'dead'), await countOf(sqs, 'work')]).toEqual([1, 3]);
  });

  it('are refused with the texts of AWS', async () => {
    await deadLetters(sqs, []);
    expect(await refusal(start({ SourceArn: `${ARN}none` }))).toMatchObject({
      code: 'ResourceNotFoundException',
      status: 404,
    });
    expect(await refusal(start({ DestinationArn: `${ARN}none` }))).toMatchObject({ status: 404 });
    expect(await refusal(start({ SourceArn: `${ARN}work` }))).toMatchObject({
      status: 400,
      message: 'Source queue must be configured as a Dead Letter Queue.',
    });
    for (const bad of [
      { SourceArn: 'nonsense' },
      { MaxNumberOfMessagesPerSecond: 501 },
      { MaxNumberOfMessagesPerSecond: 0 },
      { DestinationArn: `${ARN}dead` },
    ]) {
      expect(await refusal(start(bad))).toMatchObject({ status: 400 });
    }
    for (const TaskHandle of ['garbage', 'bnVsbA==', 'e30=']) {
      expect(await refusal(sqs.send(new CancelMessageMoveTaskCommand({ TaskHandle })))).toMatchObject({
        status: 400,
      });
    }
  });

  it('speak Query, too', async () => {
    await deadLetters(sqs, ['1']);
    await start();
    await ended();
    const parameters = new URLSearchParams({ Action: 'ListMessageMoveTasks', SourceArn: `${ARN}dead` });
    const text = await (await fetch(`${server.url}/?${parameters.toString()}`)).text();
    expect(text).toContain('<ListMessageMoveTasksResultEntry><Status>COMPLETED</Status>');
    expect(text).toContain('<ApproximateNumberOfMessagesMoved>1</ApproximateNumberOfMessagesMoved>');
  });
});

describe('after a restart', () => {
  it('a running task goes on', async () => {
    const folder = temporaryFolder();
    try {
      const open = async () => {
        const running = await startServer({ connectors: ['aws'], folder: folder.path });
        const client = new SQSClient({
          endpoint: urlOf(running, 'aws'),
          region: 'us-east-1',
          credentials: CREDENTIALS,
        });
        return { running, client };
      };
      const before = await open();
      await deadLetters(before.client, ['1', '2', '3']);
      const slow = { SourceArn: `${ARN}dead`, MaxNumberOfMessagesPerSecond: 1 };
      const { TaskHandle } = await before.client.send(new StartMessageMoveTaskCommand(slow));
      before.client.destroy();
      await before.running.stop();
      const after = await open();
      expect(await tasksOf(after.client)).toMatchObject([{ Status: 'RUNNING', TaskHandle }]);
      const { ApproximateNumberOfMessagesMoved = -1 } = await after.client.send(
        new CancelMessageMoveTaskCommand({ TaskHandle }),
      );
      expect(await countOf(after.client, 'dead')).toBe(3 - ApproximateNumberOfMessagesMoved);
      after.client.destroy();
      await after.running.stop();
    } finally {
      folder.remove();
    }
  });
});
