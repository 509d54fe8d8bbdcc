import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  PurgeQueueCommand,
  SendMessageBatchCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { bodies, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';

const clock = new ManualClock(Date.UTC(2026, 0, 2));
let server: AwsServer;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer({ clock });
  queues = new Queues(server);
});
afterAll(() => server.stop());

describe('an expired receipt of a standard queue', () => {
  it('still deletes, as long as nobody else received the message', async () => {
    const url = await queues.create();
    await queues.send(url, 'late');
    await queues.send(url, 'too late');
    const [one, two] = await queues.receive(url, { VisibilityTimeout: 5 });
    await pass(clock, 6_000);
    await server.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: one?.ReceiptHandle }));
    expect(bodies(await queues.receive(url, { VisibilityTimeout: 5 }))).toEqual(['too late']);
    await server.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: two?.ReceiptHandle }));
    await pass(clock, 6_000);
    const [again] = await queues.receive(url);
    expect(again).toMatchObject({ Body: 'too late', Attributes: { ApproximateReceiveCount: '3' } });
  });

  it('still deletes in a batch, and after a visibility of zero', async () => {
    const url = await queues.create();
    await queues.send(url, 'a');
    const [message] = await queues.receive(url);
    const { ReceiptHandle } = message ?? {};
    await server.sqs.send(
      new ChangeMessageVisibilityCommand({ QueueUrl: url, ReceiptHandle, VisibilityTimeout: 0 }),
    );
    const answer = await server.sqs.send(
      new DeleteMessageBatchCommand({ QueueUrl: url, Entries: [{ Id: '1', ReceiptHandle }] }),
    );
    expect(answer.Successful).toEqual([{ Id: '1' }]);
    expect(await queues.receive(url)).toEqual([]);
  });
});

describe('visibility', () => {
  it('is at most twelve hours from the receive on', async () => {
    const url = await queues.create();
    await queues.send(url, 'x');
    const [message] = await queues.receive(url, { VisibilityTimeout: 7_200 });
    const { ReceiptHandle } = message ?? {};
    const change = (seconds: number): Promise<unknown> =>
      server.sqs.send(
        new ChangeMessageVisibilityCommand({ QueueUrl: url, ReceiptHandle, VisibilityTimeout: seconds }),
      );
    await pass(clock, 900);
    await change(43_200);
    await pass(clock, 4_100);
    await change(43_195);
    const text =
      'Value 43196 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is ' +
      'beyond the limit [43200 seconds]';
    expect(await refusal(change(43_196))).toMatchObject({ code: 'InvalidParameterValue', message: text });
    const batch = await server.sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: url,
        Entries: [{ Id: 'a', ReceiptHandle, VisibilityTimeout: 43_196 }],
      }),
    );
    expect(batch.Failed).toMatchObject([
      { Id: 'a', Code: 'InvalidParameterValue', SenderFault: true, Message: text },
    ]);
  });
});

describe('a batch to send', () => {
  it('is too long by all that is in it, also by what would be refused alone', async () => {
    const url = await queues.create({ MaximumMessageSize: '1024' });
    const entries = [
      { Id: '1', MessageBody: 'x'.repeat(1_048_576) },
      { Id: '2', MessageBody: 'y' },
    ];
    const command = new SendMessageBatchCommand({ QueueUrl: url, Entries: entries });
    expect(await refusal(server.sqs.send(command))).toMatchObject({
      code: 'BatchRequestTooLong',
      message: 'Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.',
    });
  });

  it('may be longer than a message of its queue, and fails entry by entry there', async () => {
    const url = await queues.create({ MaximumMessageSize: '2048' });
    const entries = [
      { Id: '1', MessageBody: 'x'.repeat(2_048) },
      { Id: '2', MessageBody: 'y' },
      { Id: '3', MessageBody: 'z'.repeat(2_049) },
    ];
    const answer = await server.sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries: entries }));
    expect(answer.Successful?.map(({ Id }) => Id)).toEqual(['1', '2']);
    expect(answer.Failed).toMatchObject([{ Id: '3', Code: 'InvalidParameterValue', SenderFault: true }]);
  });

  it('of nothing says what is missing', async () => {
    const url = await queues.create();
    const send = server.sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries: [] }));
    expect((await refusal(send)).message).toBe(
      'There should be at least one SendMessageBatchRequestEntry in the request.',
    );
    const remove = server.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries: [] }));
    expect((await refusal(remove)).message).toBe(
      'There should be at least one DeleteMessageBatchRequestEntry in the request.',
    );
    const change = server.sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries: [] }));
    expect((await refusal(change)).message).toBe(
      'There should be at least one ChangeMessageVisibilityBatchRequestEntry in the request.',
    );
  });
});

describe('encryption with a key', () => {
  it('is read back as set, and takes the place of the managed one', async () => {
    const url = await queues.create({ KmsMasterKeyId: 'alias/aws/sqs' });
    const read = async (): Promise<Record<string, string> | undefined> =>
      (
        await server.sqs.send(
          new GetQueueAttributesCommand({
            QueueUrl: url,
            AttributeNames: ['KmsMasterKeyId', 'KmsDataKeyReusePeriodSeconds', 'SqsManagedSseEnabled'],
          }),
        )
      ).Attributes;
    expect(await read()).toEqual({
      KmsMasterKeyId: 'alias/aws/sqs',
      KmsDataKeyReusePeriodSeconds: '300',
      SqsManagedSseEnabled: 'false',
    });
    await server.sqs.send(
      new SetQueueAttributesCommand({ QueueUrl: url, Attributes: { SqsManagedSseEnabled: 'true' } }),
    );
    expect(await read()).toEqual({ SqsManagedSseEnabled: 'true' });
    await server.sqs.send(
      new SetQueueAttributesCommand({ QueueUrl: url, Attributes: { KmsMasterKeyId: 'alias/mine' } }),
    );
    expect(await read()).toMatchObject({ KmsMasterKeyId: 'alias/mine', SqsManagedSseEnabled: 'false' });
  });
});

describe('a purge', () => {
  it('forgets what was deduplicated', async () => {
    const url = await queues.create({ FifoQueue: 'true' });
    const ids = { MessageGroupId: 'g', MessageDeduplicationId: 'd' };
    await queues.send(url, 'one', ids);
    await server.sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
    await queues.send(url, 'two', ids);
    expect(bodies(await queues.receive(url))).toEqual(['two']);
  });
});

describe('the name of a deleted queue', () => {
  it('is free at once', async () => {
    const url = await queues.create({}, 'again');
    await server.sqs.send(new DeleteQueueCommand({ QueueUrl: url }));
    expect(await queues.create({ DelaySeconds: '1' }, 'again')).toBe(url);
  });

  it('is blocked for as long as the configuration says, in both protocols and whatever is deleted meanwhile', async () => {
    const strict = await startAwsServer({ clock, config: { recreateWaitSeconds: 60 } });
    try {
      const own = new Queues(strict);
      const url = await own.create({}, 'blocked');
      await strict.sqs.send(new DeleteQueueCommand({ QueueUrl: url }));
      await strict.sqs.send(new DeleteQueueCommand({ QueueUrl: await own.create({}, 'other') }));
      expect(await refusal(strict.sqs.send(new CreateQueueCommand({ QueueName: 'blocked' })))).toEqual({
        code: 'QueueDeletedRecently',
        status: 400,
        message:
          'You must wait 60 seconds after deleting a queue before you can create another with the same name.',
      });
      const form = await fetch(`${strict.url}/?Action=CreateQueue&QueueName=blocked&Version=2012-11-05`);
      expect(await form.text()).toContain('<Code>AWS.SimpleQueueService.QueueDeletedRecently</Code>');
      await pass(clock, 60_000);
      expect(await own.create({}, 'blocked')).toBe(url);
      await strict.sqs.send(new DeleteQueueCommand({ QueueUrl: url }));
    } finally {
      await strict.stop();
    }
  });
});
