import {
  CreateTopicCommand,
  DeleteTopicCommand,
  GetTopicAttributesCommand,
  UnsubscribeCommand,
} from '@aws-sdk/client-sns';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { Message } from '@aws-sdk/client-sqs';
import { bodies, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';
import { queueArn, Topics } from './sns-rig.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const ARCHIVE = { FifoTopic: 'true', ArchivePolicy: '{"MessageRetentionPeriod":"2"}' };

let clock: ManualClock;
let server: AwsServer;
let topics: Topics;
let queues: Queues;
let names = 0;

beforeEach(async () => {
  clock = new ManualClock();
  server = await startAwsServer({ clock });
  topics = new Topics(server);
  queues = new Queues(server);
});
afterEach(() => server.stop());

const now = (): string => new Date(clock.now()).toISOString();
const from = (StartingPoint: string, EndingPoint?: string): string =>
  JSON.stringify({
    PointType: 'Timestamp',
    StartingPoint,
    ...(EndingPoint !== undefined && { EndingPoint }),
  });
const topicAttributes = async (TopicArn: string): Promise<Record<string, string>> =>
  (await server.sns.send(new GetTopicAttributesCommand({ TopicArn }))).Attributes ?? {};

/** A queue for replays and the ARN of its subscription. */
async function subscribed(
  topic: string,
  attributes: Record<string, string> = {},
  fifo = true,
): Promise<{ url: string; arn: string }> {
  const name = `r${++names}`;
  const url = await queues.create(fifo ? { FifoQueue: 'true' } : {}, name);
  const arn = await topics.subscribe(topic, queueArn(fifo ? `${name}.fifo` : name), {
    RawMessageDelivery: 'true',
    ...attributes,
  });
  return { url, arn };
}

let published = 0;
async function publish(topic: string, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    clock.advance(1000);
    await topics.publish(topic, text, { MessageGroupId: 'g', MessageDeduplicationId: `d${++published}` });
  }
}

/** Lets days go by, in which idle connections end. */
async function days(count: number): Promise<void> {
  clock.advance(count * DAY_MS);
  while (server.connector.status().connections > 0) await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits until the replay of a subscription is in a state. */
async function replayed(arn: string, status = 'Completed'): Promise<void> {
  while ((await topics.attributesOf(arn))['ReplayStatus'] !== status) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Everything a queue has, its first message first. */
async function drained(url: string): Promise<readonly Message[]> {
  const all: Message[] = [];
  for (;;) {
    const some = await queues.receive(url, { VisibilityTimeout: 3600, MessageAttributeNames: ['All'] });
    all.push(...some);
    if (some.length === 0) return all;
    await Promise.all(some.map((one) => queues.delete(url, one)));
  }
}

describe('the archive of a FIFO topic', () => {
  it('begins with its policy, moves on with its period and goes with it', async () => {
    const begin = clock.now();
    const topic = await topics.create(ARCHIVE);
    expect(await topicAttributes(topic)).toMatchObject({
      ArchivePolicy: '{"MessageRetentionPeriod":"2"}',
      BeginningArchiveTime: new Date(begin).toISOString(),
    });
    await days(3);
    const back = (days: number): string => new Date(clock.now() - days * DAY_MS).toISOString();
    expect((await topicAttributes(topic))['BeginningArchiveTime']).toBe(back(2));
    await topics.set(topic, 'ArchivePolicy', '{"MessageRetentionPeriod":1}');
    expect(await topicAttributes(topic)).toMatchObject({
      ArchivePolicy: '{"MessageRetentionPeriod":1}',
      BeginningArchiveTime: back(1),
    });
    const remove = new DeleteTopicCommand({ TopicArn: topic });
    expect(await refusal(server.sns.send(remove))).toMatchObject({
      code: 'InvalidStateException',
      status: 400,
      message: 'Invalid state: Cannot delete a topic with an ArchivePolicy',
    });
    await topics.set(topic, 'ArchivePolicy', '{}');
    const attributes = await topicAttributes(topic);
    expect(attributes['ArchivePolicy'] ?? attributes['BeginningArchiveTime']).toBeUndefined();
    await server.sns.send(remove);
    expect(server.broker.logs('sns.')).toEqual([]);
  });

  it.each([
    ['', 'not json', 'failed to parse JSON.'],
    ['', '{"MessageRetentionPeriod":"0"}', 'MessageRetentionPeriod must be'],
    ['', '{"MessageRetentionPeriod":"366"}', 'MessageRetentionPeriod must be'],
    ['', '{"MessageRetentionPeriod":"1.5"}', 'MessageRetentionPeriod must be'],
    ['', '{"Days":"1"}', 'Attribute Days is unknown.'],
  ])('refuses the policy %s%s', async (_, ArchivePolicy, text) => {
    const { code, message } = await refusal(topics.create({ FifoTopic: 'true', ArchivePolicy }));
    expect(code).toBe('InvalidParameterException');
    expect(message).toContain(`Invalid parameter: Attributes Reason: ArchivePolicy: ${text}`);
  });

  it('is for FIFO topics only, and the same topic is created again', async () => {
    const { FifoTopic, ...others } = ARCHIVE;
    expect(FifoTopic).toBe('true');
    expect((await refusal(topics.create(others))).message).toContain('can only be set on FIFO topics');
    const create = new CreateTopicCommand({ Name: 'again.fifo', Attributes: ARCHIVE });
    const { TopicArn } = await server.sns.send(create);
    expect((await server.sns.send(create)).TopicArn).toBe(TopicArn);
  });
});

describe('a replay', () => {
  it('brings a new subscription what was published from its starting point on, and then what is new', async () => {
    const topic = await topics.create(ARCHIVE);
    await publish(topic, 'a', 'b');
    clock.advance(1000);
    const point = now();
    await publish(topic, 'c', 'd');
    const { url, arn } = await subscribed(topic, { ReplayPolicy: from(point) });
    await replayed(arn);
    await publish(topic, 'e');
    expect(bodies(await drained(url))).toEqual(['c', 'd', 'e']);
    expect(JSON.parse((await topics.attributesOf(arn))['ReplayPolicy'] ?? '')).toMatchObject({
      PointType: 'Timestamp',
      StartingPoint: point,
    });
  });

  it('brings again what the queue had already, with its ids, its time and a mark', async () => {
    const topic = await topics.create(ARCHIVE);
    const { url, arn } = await subscribed(topic, { RawMessageDelivery: 'false' });
    await publish(topic, 'a');
    const [first] = await drained(url);
    await topics.set(arn, 'ReplayPolicy', from(new Date(0).toISOString()));
    await replayed(arn);
    const [again] = await drained(url);
    const envelope = (one: Message | undefined) => JSON.parse(one?.Body ?? '') as Record<string, unknown>;
    expect(envelope(again)).toEqual({ ...envelope(first), Replayed: 'true' });
    expect(again?.Attributes).toMatchObject({
      MessageGroupId: 'g',
      MessageDeduplicationId: first?.Attributes?.MessageDeduplicationId,
    });
    // Set again, it begins anew; raw, an attribute is the mark.
    await topics.set(arn, 'RawMessageDelivery', 'true');
    await topics.set(arn, 'ReplayPolicy', from(new Date(0).toISOString()));
    await replayed(arn);
    expect(await drained(url)).toMatchObject([
      { Body: 'a', MessageAttributes: { Replayed: { DataType: 'String', StringValue: 'true' } } },
    ]);
  });

  it('with an ending point brings nothing behind it, also nothing new, until the policy is taken back', async () => {
    const topic = await topics.create(ARCHIVE);
    await publish(topic, 'a', 'b');
    const end = now();
    await publish(topic, 'c');
    const span = from(new Date(0).toISOString(), end);
    const { url, arn } = await subscribed(topic, { ReplayPolicy: span });
    await replayed(arn);
    await publish(topic, 'd');
    expect(bodies(await drained(url))).toEqual(['a', 'b']);
    await topics.set(arn, 'ReplayPolicy', '{}');
    expect(await topics.attributesOf(arn)).not.toHaveProperty('ReplayStatus');
    await publish(topic, 'e');
    expect(bodies(await drained(url))).toEqual(['e']);
  });

  it('waits for an ending point that is to come', async () => {
    const topic = await topics.create(ARCHIVE);
    await publish(topic, 'a');
    const end = new Date(clock.now() + 10_000).toISOString();
    const { url, arn } = await subscribed(topic, { ReplayPolicy: from(new Date(0).toISOString(), end) });
    await replayed(arn, 'In progress');
    await publish(topic, 'b');
    await pass(clock, 20_000);
    await replayed(arn);
    await publish(topic, 'c');
    expect(bodies(await drained(url))).toEqual(['a', 'b']);
  });

  it('goes through the filter of its subscription, to standard queues too, and to dead letters where one is gone', async () => {
    const topic = await topics.create(ARCHIVE);
    await publish(topic, '{"n":1}', '{"n":2}', '{"n":1,"x":0}');
    const dead = await queues.create({ FifoQueue: 'true' }, 'dead');
    const ReplayPolicy = from(new Date(0).toISOString());
    const filter = { FilterPolicyScope: 'MessageBody', FilterPolicy: '{"n":[1]}', ReplayPolicy };
    const filtered = await subscribed(topic, filter);
    const standard = await subscribed(topic, { ReplayPolicy }, false);
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: queueArn('dead.fifo') });
    const attributes = { ReplayPolicy, RedrivePolicy, RawMessageDelivery: 'true' };
    const gone = await topics.subscribe(topic, queueArn('gone.fifo'), attributes);
    for (const arn of [filtered.arn, standard.arn, gone]) await replayed(arn);
    expect(bodies(await drained(filtered.url))).toEqual(['{"n":1}', '{"n":1,"x":0}']);
    expect(await drained(standard.url)).toHaveLength(3);
    expect(bodies(await drained(dead))).toEqual(['{"n":1}', '{"n":2}', '{"n":1,"x":0}']);
  });

  it('leaves out what the period let go, and duplicates were never archived', async () => {
    const topic = await topics.create(ARCHIVE);
    await publish(topic, 'old');
    await days(3);
    const ids = { MessageGroupId: 'g', MessageDeduplicationId: 'same' };
    await topics.publish(topic, 'new', ids);
    await topics.publish(topic, 'duplicate', ids);
    const { url, arn } = await subscribed(topic, { ReplayPolicy: from(new Date(0).toISOString()) });
    await replayed(arn);
    expect(bodies(await drained(url))).toEqual(['new']);
  });

  it('hands over to new messages without a gap, a repetition or a change of order', async () => {
    const topic = await topics.create(ARCHIVE);
    const texts = Array.from({ length: 400 }, (_, i) => String(i));
    await publish(topic, ...texts.slice(0, 250));
    const { url, arn } = await subscribed(topic, { ReplayPolicy: from(new Date(0).toISOString()) });
    for (const text of texts.slice(250)) await publish(topic, text);
    await replayed(arn);
    expect(bodies(await drained(url))).toEqual(texts);
  });

  it('fails when the archive goes, and its subscription gets what is new', async () => {
    const topic = await topics.create(ARCHIVE);
    await publish(topic, 'a');
    const end = new Date(clock.now() + DAY_MS).toISOString();
    const { url, arn } = await subscribed(topic, { ReplayPolicy: from(new Date(0).toISOString(), end) });
    await replayed(arn, 'In progress');
    await topics.set(topic, 'ArchivePolicy', '');
    await replayed(arn, 'Failed');
    await publish(topic, 'b');
    expect(bodies(await drained(url)).at(-1)).toBe('b');
    await server.sns.send(new UnsubscribeCommand({ SubscriptionArn: arn }));
    expect(server.broker.queues('sns.').filter((name) => name.includes('.r.'))).toEqual([]);
  });

  it.each([
    ['[]', 'failed to parse JSON.'],
    ['{"PointType":"Sequence","StartingPoint":"2020-01-01T00:00:00Z"}', 'PointType must be Timestamp.'],
    ['{"PointType":"Timestamp"}', 'StartingPoint must be a timestamp in ISO 8601.'],
    ['{"PointType":"Timestamp","StartingPoint":"yesterday"}', 'StartingPoint must be a timestamp'],
    ['{"PointType":"Timestamp","StartingPoint":"2999-01-01T00:00:00Z"}', 'must not be in the future.'],
    [
      '{"PointType":"Timestamp","StartingPoint":"1970-01-01T00:00:00Z","Days":1}',
      'Attribute Days is unknown.',
    ],
    [
      '{"PointType":"Timestamp","StartingPoint":"1970-01-01T00:00:00Z","EndingPoint":"1970-01-01T00:00:00Z"}',
      'EndingPoint must be later than StartingPoint.',
    ],
  ])('is refused the policy %s', async (ReplayPolicy, text) => {
    const topic = await topics.create(ARCHIVE, `refused${++names}`);
    const { code, message } = await refusal(topics.subscribe(topic, queueArn('x.fifo'), { ReplayPolicy }));
    expect(code).toBe('InvalidParameterException');
    expect(message).toContain('Invalid parameter: Attributes Reason: ReplayPolicy: ');
    expect(message).toContain(text);
  });

  it('needs an archive, and there are a hundred at once', async () => {
    const plain = await topics.create({ FifoTopic: 'true' });
    const begin = { ReplayPolicy: from(new Date(0).toISOString()) };
    expect((await refusal(topics.subscribe(plain, queueArn('x.fifo'), begin))).message).toContain(
      'the topic has no ArchivePolicy.',
    );
    // One topic alone may not have more subscriptions than that.
    const topic = await topics.create(ARCHIVE);
    const other = await topics.create(ARCHIVE);
    const ReplayPolicy = from(new Date(0).toISOString(), new Date(clock.now() + DAY_MS).toISOString());
    const arns: string[] = [];
    for (let i = 0; i < 100; i++) {
      arns.push(await topics.subscribe(topic, queueArn(`q${i}.fifo`), { ReplayPolicy }));
    }
    const more = topics.subscribe(other, queueArn('more.fifo'), { ReplayPolicy });
    expect(await refusal(more)).toMatchObject({ code: 'ReplayLimitExceededException', status: 403 });
    await topics.set(arns[0] ?? '', 'ReplayPolicy', '');
    await new Promise((resolve) => setImmediate(resolve));
    await topics.subscribe(other, queueArn('more.fifo'), { ReplayPolicy });
  });
});
