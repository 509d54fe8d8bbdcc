import {
  CreateTopicCommand,
  ListSubscriptionsCommand,
  PublishCommand,
  SNSClient,
  SubscribeCommand,
} from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../../src/app/index.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer, urlOf } from '../../support/server.js';
import { CREDENTIALS } from './aws-server.js';

const folder = temporaryFolder();
let running: RunningBroker | undefined;
let clients: { destroy(): void }[] = [];

async function start(): Promise<{ sqs: SQSClient; sns: SNSClient }> {
  running = await startServer({ connectors: ['aws'], folder: folder.path });
  const options = { endpoint: urlOf(running, 'aws'), region: 'us-east-1', credentials: CREDENTIALS };
  const sqs = new SQSClient(options);
  const sns = new SNSClient(options);
  clients.push(sqs, sns);
  return { sqs, sns };
}

async function stop(): Promise<void> {
  for (const client of clients) client.destroy();
  clients = [];
  await running?.stop();
  running = undefined;
}

afterEach(async () => {
  await stop();
  folder.remove();
});

describe('after a restart', () => {
  it('queues, topics, subscriptions, messages, receive counts, duplicates and handles are as before', async () => {
    const before = await start();
    const fifo = { FifoQueue: 'true', VisibilityTimeout: '600' };
    await before.sqs.send(new CreateQueueCommand({ QueueName: 'kept.fifo', Attributes: fifo }));
    await before.sqs.send(new CreateQueueCommand({ QueueName: 'kept' }));
    const { TopicArn } = await before.sns.send(new CreateTopicCommand({ Name: 'news' }));
    const Endpoint = 'arn:aws:sqs:kubemq:000000000000:kept';
    await before.sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint }));
    const message = (body: string, dedup: string) =>
      new SendMessageCommand({
        QueueUrl: 'kept.fifo',
        MessageBody: body,
        MessageGroupId: 'g',
        MessageDeduplicationId: dedup,
        MessageAttributes: { k: { DataType: 'String', StringValue: 'x' } },
      });
    const first = await before.sqs.send(message('one', '1'));
    await before.sqs.send(message('two', '2'));
    const receive = new ReceiveMessageCommand({
      QueueUrl: 'kept.fifo',
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    });
    const [held] = (await before.sqs.send(receive)).Messages ?? [];
    await stop();

    const { sqs, sns } = await start();
    // Still in flight, so its group waits; its handle deletes it, and the next one comes.
    expect((await sqs.send(receive)).Messages).toBeUndefined();
    expect(await sqs.send(message('again', '1'))).toMatchObject({
      MessageId: first.MessageId,
      SequenceNumber: first.SequenceNumber,
    });
    await sqs.send(new DeleteMessageCommand({ QueueUrl: 'kept.fifo', ReceiptHandle: held?.ReceiptHandle }));
    const [next] = (await sqs.send(receive)).Messages ?? [];
    expect(next).toMatchObject({
      Body: 'two',
      MD5OfMessageAttributes: 'a45daa70926828a2f0a1db3418e6feb4',
      Attributes: { ApproximateReceiveCount: '1', MessageGroupId: 'g', SenderId: 'AKIDEXAMPLE' },
    });
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: 'kept.fifo', AttributeNames: ['VisibilityTimeout'] }),
    );
    expect(Attributes).toEqual({ VisibilityTimeout: '600' });
    expect((await sns.send(new ListSubscriptionsCommand({}))).Subscriptions).toHaveLength(1);
    await sns.send(new PublishCommand({ TopicArn, Message: 'after' }));
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: 'kept' }));
    expect(Messages?.[0]?.Body).toContain('"Message" : "after"');
  });

  it('what was deleted from a dead-letter queue stays deleted (softwaremill/elasticmq#618)', async () => {
    const before = await start();
    await before.sqs.send(new CreateQueueCommand({ QueueName: 'dead' }));
    const RedrivePolicy =
      '{"deadLetterTargetArn":"arn:aws:sqs:kubemq:000000000000:dead","maxReceiveCount":1}';
    await before.sqs.send(new CreateQueueCommand({ QueueName: 'work', Attributes: { RedrivePolicy } }));
    for (const MessageBody of ['kept', 'deleted']) {
      await before.sqs.send(new SendMessageCommand({ QueueUrl: 'work', MessageBody }));
    }
    const give = { QueueUrl: 'work', MaxNumberOfMessages: 10, VisibilityTimeout: 0 };
    expect((await before.sqs.send(new ReceiveMessageCommand(give))).Messages).toHaveLength(2);
    const look = new ReceiveMessageCommand({ QueueUrl: 'dead', VisibilityTimeout: 60, WaitTimeSeconds: 10 });
    const letters = [...((await before.sqs.send(look)).Messages ?? [])];
    letters.push(...((await before.sqs.send(look)).Messages ?? []));
    const ReceiptHandle = letters.find(({ Body }) => Body === 'deleted')?.ReceiptHandle;
    await before.sqs.send(new DeleteMessageCommand({ QueueUrl: 'dead', ReceiptHandle }));
    await stop();

    const { sqs } = await start();
    const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: 'dead', AttributeNames: [...AttributeNames] }),
    );
    const total = Object.values(Attributes ?? {}).reduce((sum, count) => sum + Number(count), 0);
    expect(total).toBe(1);
    expect((await sqs.send(new ReceiveMessageCommand(give))).Messages).toBeUndefined();
  });
});
