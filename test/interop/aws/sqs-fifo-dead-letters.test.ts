import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ListDeadLetterSourceQueuesCommand,
  SendMessageBatchCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { bodies, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';

const clock = new ManualClock();
let server: AwsServer;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer({ clock });
  queues = new Queues(server);
});
afterAll(() => server.stop());

const create: Queues['create'] = (...of) => queues.create(...of);
const receive: Queues['receive'] = (...of) => queues.receive(...of);
const send: Queues['send'] = (...of) => queues.send(...of);

describe('dead letters', () => {
  it('move after the allowed deliveries, with body, id, attributes and their source', async () => {
    const dead = await create({}, 'dead');
    const policy = { deadLetterTargetArn: 'arn:aws:sqs:kubemq:000000000000:dead', maxReceiveCount: '3' };
    const url = await create({ VisibilityTimeout: '1', RedrivePolicy: JSON.stringify(policy) }, 'source');
    const attributes = { MessageAttributes: { k: { DataType: 'String', StringValue: 'x' } } };
    const sent = await send(url, 'x', attributes);
    const sentAt = String(clock.now());
    for (let i = 0; i < 3; i++) {
      expect(await receive(url), `delivery ${i}`).toHaveLength(1);
      await pass(clock, 1_300);
    }
    expect(await receive(url)).toEqual([]);
    const [letter] = await receive(dead, { MessageAttributeNames: ['All'] });
    expect(letter).toMatchObject({
      Body: 'x',
      MessageId: sent.MessageId,
      MD5OfMessageAttributes: 'a45daa70926828a2f0a1db3418e6feb4',
      Attributes: {
        DeadLetterQueueSourceArn: 'arn:aws:sqs:kubemq:000000000000:source',
        SentTimestamp: sentAt,
        SenderId: 'AKIDEXAMPLE',
      },
    });
    const sources = await server.sqs.send(new ListDeadLetterSourceQueuesCommand({ QueueUrl: dead }));
    expect(sources.queueUrls).toEqual([url]);
  });

  it('need a queue of the same type that lets them in', async () => {
    await create({ FifoQueue: 'true' }, 'dead2');
    await create({ RedriveAllowPolicy: '{"redrivePermission":"denyAll"}' }, 'dead3');
    const policy = (name: string) => ({
      RedrivePolicy: `{"deadLetterTargetArn":"arn:aws:sqs:kubemq:000000000000:${name}","maxReceiveCount":1}`,
    });
    expect(await refusal(create(policy('missing')))).toMatchObject({ code: 'QueueDoesNotExist' });
    expect(await refusal(create(policy('dead2.fifo')))).toMatchObject({
      code: 'InvalidParameterValue',
    });
    expect(await refusal(create(policy('dead3')))).toMatchObject({ code: 'InvalidParameterValue' });
  });
});

describe('FIFO', () => {
  const fifo = { FifoQueue: 'true', ContentBasedDeduplication: 'true', VisibilityTimeout: '10' };
  const group = (MessageGroupId: string, more: object = {}) => ({ MessageGroupId, ...more });

  it('keeps the order of a group and holds it back while one is in flight', async () => {
    const url = await create(fifo);
    for (const [id, body] of [
      ['g1', 'a1'],
      ['g2', 'b1'],
      ['g1', 'a2'],
      ['g1', 'a3'],
    ] as const) {
      await send(url, body, group(id));
    }
    const first = await receive(url, { MaxNumberOfMessages: 2 });
    const rest = await receive(url);
    const all = [...bodies(first), ...bodies(rest)];
    expect(all.filter((body) => body?.startsWith('a'))).toEqual(['a1', 'a2', 'a3'].slice(0, all.length - 1));
    await pass(clock, 10_500);
    const again = bodies(await receive(url));
    expect(again.filter((body) => body?.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
    expect(again).toContain('b1');
  });

  it('numbers messages the same for sender and receiver, rising', async () => {
    const url = await create(fifo);
    const sent: (string | undefined)[] = [];
    for (let i = 0; i < 12; i++) sent.push((await send(url, `m${i}`, group('g'))).SequenceNumber);
    expect(sent[0]).toMatch(/^\d{20}$/);
    expect([...sent].sort()).toEqual(sent);
    expect(new Set(sent).size).toBe(12);
    const messages = await receive(url);
    expect(messages.map(({ Attributes }) => Attributes?.SequenceNumber)).toEqual(
      sent.slice(0, messages.length),
    );
    expect(messages[0]?.Attributes).toMatchObject({ MessageGroupId: 'g' });
    expect(messages[0]?.Attributes?.MessageDeduplicationId).toMatch(/^[0-9a-f]{64}$/);
  });

  it('gives up to ten of a group at once, and nothing to a second receiver meanwhile', async () => {
    const url = await create(fifo);
    for (let i = 0; i < 10; i++) await send(url, `m${i}`, group('g'));
    const both = await Promise.all([
      receive(url, { MaxNumberOfMessages: 5 }),
      receive(url, { MaxNumberOfMessages: 5 }),
    ]);
    expect(both.map((messages) => messages.length).sort()).toEqual([0, 5]);
    await pass(clock, 10_500);
    expect(bodies(await receive(url))).toEqual(Array.from({ length: 10 }, (_, i) => `m${i}`));
  });

  it('holds a whole group back behind its first message that is extended', async () => {
    const url = await create({ ...fifo, VisibilityTimeout: '2' });
    for (const body of ['1', '2', '3']) await send(url, body, group('g'));
    const [first] = await receive(url);
    const extended = { QueueUrl: url, ReceiptHandle: first?.ReceiptHandle, VisibilityTimeout: 15 };
    await server.sqs.send(new ChangeMessageVisibilityCommand(extended));
    await pass(clock, 3_000);
    expect(await receive(url)).toEqual([]);
    await pass(clock, 13_000);
    expect(bodies(await receive(url))).toEqual(['1', '2', '3']);
  });

  it('does not hold a group back behind a delayed message', async () => {
    const url = await create({ ...fifo, DelaySeconds: '5' });
    await send(url, 'early', group('g'));
    await pass(clock, 5_200);
    await send(url, 'late', group('g'));
    expect(bodies(await receive(url))).toEqual(['early']);
  });

  it('swallows duplicates for five minutes and answers as the first time', async () => {
    const url = await create({ FifoQueue: 'true' });
    const dedup = group('g', { MessageDeduplicationId: 'x' });
    const first = await send(url, 'one', dedup);
    const [message] = await receive(url);
    await server.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message?.ReceiptHandle }));
    const second = await send(url, 'two', group('h', { MessageDeduplicationId: 'x' }));
    expect(second).toMatchObject({ MessageId: first.MessageId, SequenceNumber: first.SequenceNumber });
    expect(second.MD5OfMessageBody).not.toBe(first.MD5OfMessageBody);
    expect(await receive(url)).toEqual([]);
    await pass(clock, 301_000);
    await send(url, 'three', dedup);
    expect(bodies(await receive(url))).toEqual(['three']);
  });

  it('scopes duplicates to groups when asked', async () => {
    const url = await create({
      FifoQueue: 'true',
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
    });
    await send(url, 'a', group('g', { MessageDeduplicationId: 'x' }));
    await send(url, 'b', group('h', { MessageDeduplicationId: 'x' }));
    await send(url, 'c', group('h', { MessageDeduplicationId: 'x' }));
    expect([...bodies(await receive(url))].sort()).toEqual(['a', 'b']);
  });

  it('needs a group and an id', async () => {
    const url = await create({ FifoQueue: 'true' });
    expect(await refusal(send(url, 'x'))).toMatchObject({ code: 'MissingParameter' });
    expect(await refusal(send(url, 'x', group('g')))).toMatchObject({
      code: 'InvalidParameterValue',
    });
    const batch = new SendMessageBatchCommand({ QueueUrl: url, Entries: [{ Id: 'a', MessageBody: 'x' }] });
    expect(await refusal(server.sqs.send(batch))).toMatchObject({ code: 'InvalidParameterValue' });
  });

  it('takes a batch whole or, when one of it has no id, not at all', async () => {
    const url = await create({ FifoQueue: 'true' });
    const Entries = [
      { Id: 'a', MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'd' },
      { Id: 'b', MessageBody: 'y', MessageGroupId: 'g' },
    ];
    const batch = new SendMessageBatchCommand({ QueueUrl: url, Entries });
    expect(await refusal(server.sqs.send(batch))).toMatchObject({
      code: 'InvalidParameterValue',
      message:
        'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    });
    expect(await receive(url)).toEqual([]);
  });

  it('refuses handles that expired, not those that were extended in time', async () => {
    const url = await create(fifo);
    await send(url, 'x', group('g'));
    const [first] = await receive(url, { VisibilityTimeout: 2 });
    const ofFirst = { QueueUrl: url, ReceiptHandle: first?.ReceiptHandle };
    await server.sqs.send(new ChangeMessageVisibilityCommand({ ...ofFirst, VisibilityTimeout: 5 }));
    await pass(clock, 4_000);
    await server.sqs.send(new DeleteMessageCommand(ofFirst));
    await send(url, 'y', group('g'));
    const [second] = await receive(url, { VisibilityTimeout: 2 });
    await pass(clock, 3_000);
    const late = new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: second?.ReceiptHandle });
    expect(await refusal(server.sqs.send(late))).toMatchObject({
      code: 'InvalidParameterValue',
      message: expect.stringContaining('The receipt handle has expired.') as string,
    });
    expect(bodies(await receive(url))).toEqual(['y']);
  });

  it('moves dead letters to the same group', async () => {
    const dead = await create({ FifoQueue: 'true' }, 'fdead');
    const policy = '{"deadLetterTargetArn":"arn:aws:sqs:kubemq:000000000000:fdead.fifo","maxReceiveCount":1}';
    const url = await create({ ...fifo, VisibilityTimeout: '1', RedrivePolicy: policy }, 'fsource');
    for (const body of ['1', '2', '3']) await send(url, body, group('order/42'));
    await receive(url);
    await pass(clock, 1_300);
    const letters = await receive(dead);
    expect(bodies(letters)).toEqual(['1', '2', '3']);
    expect(letters[0]?.Attributes).toMatchObject({
      MessageGroupId: 'order/42',
      DeadLetterQueueSourceArn: 'arn:aws:sqs:kubemq:000000000000:fsource.fifo',
    });
  });
});
