import { PublishBatchCommand } from '@aws-sdk/client-sns';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { bodies, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';
import { queueArn, Topics } from './sns-rig.js';

let clock: ManualClock;
let server: AwsServer;
let topics: Topics;
let queues: Queues;
let names = 0;

beforeAll(async () => {
  clock = new ManualClock();
  server = await startAwsServer({ clock });
  topics = new Topics(server);
  queues = new Queues(server);
});
afterAll(() => server.stop());

/** A FIFO topic with a FIFO queue on it. */
async function pair(
  attributes: Record<string, string> = {},
  subscription: Record<string, string> = { RawMessageDelivery: 'true' },
): Promise<{ topic: string; url: string }> {
  const name = `fifo${++names}`;
  const url = await queues.create({ FifoQueue: 'true' }, name);
  const topic = await topics.create({ FifoTopic: 'true', ...attributes }, name);
  await topics.subscribe(topic, queueArn(`${name}.fifo`), subscription);
  return { topic, url };
}

describe('a FIFO topic', () => {
  it('keeps the order of each group into its queues, with rising sequence numbers', async () => {
    const { topic, url } = await pair();
    const numbers: string[] = [];
    const publish = async (body: string, group: string) => {
      const { SequenceNumber = '' } = await topics.publish(topic, body, {
        MessageGroupId: group,
        MessageDeduplicationId: body,
      });
      numbers.push(SequenceNumber);
    };
    await Promise.all(['a1', 'b1', 'a2', 'b2', 'a3'].map((body) => publish(body, body[0] ?? '')));
    const order: Record<string, (string | undefined)[]> = { a: [], b: [] };
    for (let i = 0; i < 5; i++) {
      for (const { Body = '', ReceiptHandle } of await queues.receive(url)) {
        order[Body[0] ?? '']?.push(Body);
        expect(ReceiptHandle).toBeDefined();
      }
    }
    expect(order).toEqual({ a: ['a1', 'a2', 'a3'], b: ['b1', 'b2'] });
    expect(numbers.every((number) => /^\d{20}$/.test(number))).toBe(true);
    expect(new Set(numbers).size).toBe(5);
  });

  it('passes a duplicate over for five minutes, with the answer of the first', async () => {
    const { topic, url } = await pair();
    const ids = { MessageGroupId: 'g', MessageDeduplicationId: 'same' };
    const first = await topics.publish(topic, 'one', ids);
    const again = await topics.publish(topic, 'two', { ...ids, MessageGroupId: 'other' });
    expect([again.MessageId, again.SequenceNumber]).toEqual([first.MessageId, first.SequenceNumber]);
    // A queue that comes later gets no duplicate of what it never saw.
    const late = await queues.create({ FifoQueue: 'true' }, 'late');
    await topics.subscribe(topic, queueArn('late.fifo'), { RawMessageDelivery: 'true' });
    await topics.publish(topic, 'three', ids);
    expect(await queues.receive(late)).toEqual([]);
    expect(bodies(await queues.receive(url))).toEqual(['one']);
    await pass(clock, 5 * 60 * 1000 + 100);
    const later = await topics.publish(topic, 'four', ids);
    expect(later.MessageId).not.toBe(first.MessageId);
    expect((later.SequenceNumber ?? '') > (first.SequenceNumber ?? '')).toBe(true);
    expect(bodies(await queues.receive(late))).toEqual(['four']);
  });

  it('deduplicates by content when it says so, and hands the hash on', async () => {
    const { topic, url } = await pair({ ContentBasedDeduplication: 'true' });
    const one = await topics.publish(topic, 'Test', { MessageGroupId: 'g' });
    const two = await topics.publish(topic, 'Test', { MessageGroupId: 'g' });
    expect(two.MessageId).toBe(one.MessageId);
    const [message] = await queues.receive(url);
    expect(message).toMatchObject({
      Body: 'Test',
      Attributes: {
        MessageGroupId: 'g',
        MessageDeduplicationId: createHash('sha256').update('Test').digest('hex'),
      },
    });
  });

  it('deduplicates within a group when its throughput scope is one', async () => {
    const { topic, url } = await pair({ FifoThroughputScope: 'MessageGroup' });
    const ids = { MessageDeduplicationId: 'same' };
    const a = await topics.publish(topic, 'x', { ...ids, MessageGroupId: 'a' });
    const b = await topics.publish(topic, 'x', { ...ids, MessageGroupId: 'b' });
    const again = await topics.publish(topic, 'x', { ...ids, MessageGroupId: 'a' });
    expect(a.MessageId).not.toBe(b.MessageId);
    expect(again.MessageId).toBe(a.MessageId);
    expect(await queues.receive(url)).toHaveLength(1);
  });

  it('takes batches: duplicates inside one, too', async () => {
    const { topic, url } = await pair();
    const entry = (Id: string, dedup: string, group?: string) => ({
      Id,
      Message: Id,
      MessageDeduplicationId: dedup,
      ...(group !== undefined && { MessageGroupId: group }),
    });
    const batch = (entries: ReturnType<typeof entry>[]) =>
      server.sns.send(new PublishBatchCommand({ TopicArn: topic, PublishBatchRequestEntries: entries }));
    const { Successful = [] } = await batch([
      entry('1', 'a', 'g'),
      entry('2', 'b', 'g'),
      entry('3', 'a', 'g'),
    ]);
    expect(Successful.map(({ Id }) => Id)).toEqual(['1', '2', '3']);
    expect(Successful[2]?.MessageId).toBe(Successful[0]?.MessageId);
    expect(Successful[2]?.SequenceNumber).toBe(Successful[0]?.SequenceNumber);
    expect((Successful[1]?.SequenceNumber ?? '') > (Successful[0]?.SequenceNumber ?? '')).toBe(true);
    expect(bodies(await queues.receive(url))).toEqual(['1', '2']);
    expect(await refusal(batch([entry('1', 'x', 'g'), entry('2', 'y')]))).toMatchObject({
      code: 'InvalidParameterException',
      message: 'Invalid parameter: The MessageGroupId parameter is required for FIFO topics',
    });
  });

  it('envelopes with its sequence number and without a signature; standard queues get it, too', async () => {
    const { topic, url } = await pair({}, {});
    const standard = await queues.create({}, 'standard');
    await topics.subscribe(topic, queueArn('standard'));
    const ids = { MessageGroupId: 'g', MessageDeduplicationId: 'd' };
    const sent = await topics.publish(topic, 'x', ids);
    const [message] = await queues.receive(url);
    const envelope = JSON.parse(message?.Body ?? '') as Record<string, unknown>;
    expect(Object.keys(envelope)).toEqual([
      'Type',
      'MessageId',
      'SequenceNumber',
      'TopicArn',
      'Message',
      'Timestamp',
      'UnsubscribeURL',
    ]);
    expect(envelope['SequenceNumber']).toBe(sent.SequenceNumber);
    const [copy] = await queues.receive(standard);
    expect(copy?.Attributes?.MessageGroupId).toBeUndefined();
    expect(copy?.Attributes?.MessageDeduplicationId).toBeUndefined();
  });

  it('is refused what it cannot do', async () => {
    const { topic } = await pair();
    expect((await refusal(topics.publish(topic, 'x'))).message).toBe(
      'Invalid parameter: The MessageGroupId parameter is required for FIFO topics',
    );
    expect((await refusal(topics.publish(topic, 'x', { MessageGroupId: 'g' }))).message).toBe(
      'Invalid parameter: The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    );
    expect((await refusal(topics.subscribe(topic, 'http://127.0.0.1/'))).message).toContain('FIFO topics');
    expect((await refusal(topics.set(topic, 'FifoTopic', 'false'))).message).toBe(
      'Invalid parameter: AttributeName',
    );
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: queueArn('plain') });
    expect((await refusal(topics.subscribe(topic, queueArn('other.fifo'), { RedrivePolicy }))).message).toBe(
      'Invalid parameter: Attributes Reason: RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.',
    );
    expect((await refusal(topics.create({ ContentBasedDeduplication: 'true' }))).code).toBe(
      'InvalidParameterException',
    );
  });

  it('sends what a queue cannot take to the FIFO dead-letter queue, group and all', async () => {
    const name = `fifo${++names}`;
    const dead = await queues.create({ FifoQueue: 'true' }, 'dead');
    const topic = await topics.create({ FifoTopic: 'true' }, name);
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: queueArn('dead.fifo') });
    await topics.subscribe(topic, queueArn('gone.fifo'), { RedrivePolicy, RawMessageDelivery: 'true' });
    await topics.publish(topic, 'x', { MessageGroupId: 'g', MessageDeduplicationId: 'd' });
    const [letter] = await queues.receive(dead);
    expect(letter).toMatchObject({
      Body: 'x',
      Attributes: { MessageGroupId: 'g', MessageDeduplicationId: 'd' },
    });
  });
});
