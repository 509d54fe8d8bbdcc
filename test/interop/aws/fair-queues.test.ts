import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  PurgeQueueCommand,
  SendMessageBatchCommand,
  StartMessageMoveTaskCommand,
  type Message,
} from '@aws-sdk/client-sqs';
import { PublishBatchCommand } from '@aws-sdk/client-sns';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { bodies, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';
import { queueArn, Topics } from './sns-rig.js';

/*
 * Message groups of standard queues: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
 */
let clock: ManualClock;
let server: AwsServer;
let queues: Queues;
let topics: Topics;

beforeEach(async () => {
  clock = new ManualClock();
  server = await startAwsServer({ clock });
  queues = new Queues(server);
  topics = new Topics(server);
});
afterEach(() => server.stop());

const groups = (messages: readonly Message[]): readonly (string | undefined)[] =>
  messages.map(({ Attributes }) => Attributes?.['MessageGroupId']);

/** `count` messages of a group, in tens. */
async function sendMany(url: string, MessageGroupId: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += 10) {
    const Entries = Array.from({ length: 10 }, (_, i) => ({
      Id: String(i),
      MessageBody: `${MessageGroupId}${first + i}`,
      MessageGroupId,
    }));
    await server.sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
  }
}

async function count(url: string, name: string): Promise<string | undefined> {
  const AttributeName = `ApproximateNumberOfMessages${name}` as 'ApproximateNumberOfMessages';
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: [AttributeName] });
  return (await server.sqs.send(command)).Attributes?.[AttributeName];
}

describe('a message group on a standard queue', () => {
  it('is given back; it neither orders nor deduplicates', async () => {
    const url = await queues.create({ VisibilityTimeout: '30' });
    const sent = await queues.send(url, 'same', { MessageGroupId: 'tenant/1!~' });
    expect(sent.SequenceNumber).toBeUndefined();
    for (let i = 0; i < 3; i++) await queues.send(url, 'same', { MessageGroupId: 'tenant/1!~' });
    await queues.send(url, 'other');
    // Receives that overlap: all of one group are out at once.
    const first = await queues.receive(url, { MaxNumberOfMessages: 2 });
    const second = await queues.receive(url);
    const all = [...first, ...second];
    expect(all).toHaveLength(5);
    expect(groups(all).toSorted()).toEqual([...Array<string>(4).fill('tenant/1!~'), undefined]);
    expect(all.every(({ Attributes }) => Attributes?.['SequenceNumber'] === undefined)).toBe(true);
    expect(await count(url, 'NotVisible')).toBe('5');
    // Whoever gives one back gets it again, while others of its group are out.
    const [one] = first;
    const visible = { QueueUrl: url, ReceiptHandle: one?.ReceiptHandle, VisibilityTimeout: 0 };
    await server.sqs.send(new ChangeMessageVisibilityCommand(visible));
    const [again] = await queues.receive(url);
    expect(again?.MessageId).toBe(one?.MessageId);
    for (const message of [...all.slice(1), again]) await queues.delete(url, message ?? {});
    await pass(clock, 31_000);
    expect(await queues.receive(url)).toEqual([]);
    expect(await count(url, '')).toBe('0');
  });

  it('is checked, and takes no deduplication id', async () => {
    const url = await queues.create();
    for (const MessageGroupId of ['', 'a b', 'x'.repeat(129), 'é']) {
      expect(await refusal(queues.send(url, 'x', { MessageGroupId }))).toMatchObject({ status: 400 });
    }
    const both = { MessageGroupId: 'g', MessageDeduplicationId: 'd' };
    expect((await refusal(queues.send(url, 'x', both))).message).toContain('not valid for this queue type');
  });

  it('comes behind the others while it has more than a tenth, and thirty, of what is in flight', async () => {
    const url = await queues.create();
    await sendMany(url, 'noisy', 100);
    for (let i = 0; i < 4; i++) expect(await queues.receive(url)).toHaveLength(10);
    await sendMany(url, 'quiet', 10);
    await queues.send(url, 'alone');
    const next = [...(await queues.receive(url)), ...(await queues.receive(url, { MaxNumberOfMessages: 1 }))];
    expect(groups(next).toSorted()).toEqual([...Array<string>(10).fill('quiet'), undefined]);
    // Nothing else is there: the noisy one is served like any.
    expect(new Set(groups(await queues.receive(url)))).toEqual(new Set(['noisy']));
  });

  it('stays with a message that goes to the dead-letter queue and back', async () => {
    const dead = await queues.create({}, 'dead');
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: queueArn('dead'), maxReceiveCount: 1 });
    const url = await queues.create({ RedrivePolicy, VisibilityTimeout: '1' }, 'source');
    await queues.send(url, 'x', { MessageGroupId: 't1' });
    await queues.send(url, 'y');
    expect(await queues.receive(url)).toHaveLength(2);
    await pass(clock, 2_000);
    expect(await queues.receive(url)).toEqual([]);
    const letters = await queues.receive(dead, { VisibilityTimeout: 0 });
    expect(groups(letters).toSorted()).toEqual(['t1', undefined]);
    for (const { Attributes } of letters) {
      expect(Attributes?.['DeadLetterQueueSourceArn']).toBe(queueArn('source'));
    }
    const SourceArn = queueArn('dead');
    await server.sqs.send(new StartMessageMoveTaskCommand({ SourceArn }));
    const task = async () =>
      (await server.sqs.send(new ListMessageMoveTasksCommand({ SourceArn }))).Results?.[0];
    await expect.poll(async () => (await task())?.Status).toBe('COMPLETED');
    expect((await task())?.ApproximateNumberOfMessagesMoved).toBe(2);
    const back = await queues.receive(url);
    expect(groups(back).toSorted()).toEqual(['t1', undefined]);
    expect(await count(dead, '')).toBe('0');
  });

  it('passes from a publish to a standard topic', async () => {
    const topic = await topics.create();
    const url = await queues.create({}, 'subscribed');
    const raw = await queues.create({}, 'raw');
    await topics.subscribe(topic, queueArn('subscribed'));
    await topics.subscribe(topic, queueArn('raw'), { RawMessageDelivery: 'true' });
    await topics.publish(topic, 'one', { MessageGroupId: 't1' });
    const PublishBatchRequestEntries = [{ Id: '0', Message: 'two', MessageGroupId: 't2' }];
    await server.sns.send(new PublishBatchCommand({ TopicArn: topic, PublishBatchRequestEntries }));
    await topics.publish(topic, 'three');
    for (const queue of [url, raw]) {
      expect(groups(await queues.receive(queue)).toSorted()).toEqual(['t1', 't2', undefined]);
    }
    const refused = topics.publish(topic, 'x', { MessageDeduplicationId: 'd' });
    expect((await refusal(refused)).code).toBe('InvalidParameterException');
  });

  it('is counted, delayed, purged and seen by other protocols with its queue', async () => {
    const url = await queues.create({}, 'whole');
    await queues.send(url, 'a', { MessageGroupId: 't1' });
    await queues.send(url, 'late', { MessageGroupId: 't1', DelaySeconds: 5 });
    await queues.send(url, 'b', { MessageGroupId: 't2' });
    await queues.send(url, 'c');
    expect([await count(url, ''), await count(url, 'Delayed')]).toEqual(['3', '1']);
    const channel = 'sqs.whole' as ChannelName;
    const handOut = { kind: 'lease', leaseMs: 1_000 } as const;
    const deliveries = await server.broker.receive({ channel, max: 10, waitMs: 0, handOut });
    const texts = deliveries.map(({ message }) => Buffer.from(message.body).toString());
    expect(texts.toSorted()).toEqual(['a', 'b', 'c']);
    await pass(clock, 6_000);
    expect(bodies(await queues.receive(url, { VisibilityTimeout: 0 })).toSorted()).toEqual([
      'a',
      'b',
      'c',
      'late',
    ]);
    await server.sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
    expect(await count(url, '')).toBe('0');
    expect(await queues.receive(url)).toEqual([]);
  });

  it('is of no effect where the queue is an alias of another protocol', async () => {
    const channel = 'amqp.default.jobs' as ChannelName;
    await server.broker.change([
      { do: 'create-queue', channel, settings: {} },
      { do: 'set-alias', alias: 'sqs.jobs' as ChannelName, channel },
    ]);
    const url = await queues.create({}, 'jobs');
    await queues.send(url, 'x', { MessageGroupId: 't1' });
    expect(server.broker.queueStats(channel)).toMatchObject({ ready: 1, subChannels: 0 });
    expect(groups(await queues.receive(url))).toEqual(['t1']);
  });
});
