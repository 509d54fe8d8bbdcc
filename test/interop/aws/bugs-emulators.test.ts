import { CreateTopicCommand, SubscribeCommand } from '@aws-sdk/client-sns';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { bodies, pass, Queues, startAwsServer, type AwsServer } from './aws-server.js';
import { queueArn, Topics } from './sns-rig.js';

/** What people ran into on stand-ins for AWS, by the report: the right behaviour. */

let clock: ManualClock;
let server: AwsServer;
let queues: Queues;
let topics: Topics;
let names = 0;

beforeAll(async () => {
  clock = new ManualClock();
  server = await startAwsServer({ clock });
  queues = new Queues(server);
  topics = new Topics(server);
});
afterAll(() => server.stop());

/** A topic and a queue on it. */
async function pair(
  attributes: Record<string, string>,
  fifo = false,
): Promise<{ topic: string; url: string; endpoint: string; arn: string }> {
  const name = `e${++names}`;
  const url = await queues.create(fifo ? { FifoQueue: 'true' } : {}, name);
  const topic = await topics.create(fifo ? { FifoTopic: 'true' } : {}, name);
  const endpoint = queueArn(fifo ? `${name}.fifo` : name);
  const arn = await topics.subscribe(topic, endpoint, attributes);
  return { topic, url, endpoint, arn };
}

describe('SQS', () => {
  it.each(['localstack/localstack#8724', 'localstack/localstack#6762'])(
    '%s: sending to a group in flight makes nothing of it visible',
    async () => {
      const fifo = { FifoQueue: 'true', ContentBasedDeduplication: 'true', VisibilityTimeout: '60' };
      const url = await queues.create(fifo, `g${++names}`);
      await queues.send(url, 'one', { MessageGroupId: '1' });
      expect(bodies(await queues.receive(url))).toEqual(['one']);
      await queues.send(url, 'two', { MessageGroupId: '1' });
      await queues.send(url, 'other', { MessageGroupId: '2' });
      expect(bodies(await queues.receive(url))).toEqual(['other']);
      await pass(clock, 61_000);
      expect(bodies(await queues.receive(url)).filter((body) => body !== 'other')).toEqual(['one', 'two']);
    },
  );

  it('localstack/localstack#10107: deleting the first of a group lets the next one come', async () => {
    const url = await queues.create({ FifoQueue: 'true', ContentBasedDeduplication: 'true' }, `g${++names}`);
    for (const body of ['one', 'two']) {
      await queues.send(url, body, { MessageGroupId: 'foo' });
      const [message] = await queues.receive(url);
      expect(message?.Body).toBe(body);
      if (message !== undefined) await queues.delete(url, message);
    }
  });

  it.each<[string, (url: string) => string]>([
    ['getmoto/moto#5064: by its bare name', (url) => url.slice(url.lastIndexOf('/') + 1)],
    ['getmoto/moto#9711: by a URL with a slash at its end', (url) => `${url}/`],
    [
      'softwaremill/elasticmq#462: by the path of older URLs',
      (url) => url.replace('/000000000000/', '/queue/'),
    ],
  ])('%s, a queue is found', async (_, name) => {
    const url = await queues.create({}, `n${++names}`);
    await server.sqs.send(new SendMessageCommand({ QueueUrl: name(url), MessageBody: 'x' }));
    expect(bodies(await queues.receive(url))).toEqual(['x']);
  });
});

describe('SNS', () => {
  it('localstack/localstack#10088: every message of a FIFO topic comes, not only the first', async () => {
    const { topic, url } = await pair({ RawMessageDelivery: 'true' }, true);
    for (const body of ['1', '2', '3']) {
      await topics.publish(topic, body, { MessageGroupId: 'g', MessageDeduplicationId: body });
    }
    expect(bodies(await queues.receive(url))).toEqual(['1', '2', '3']);
  });

  it('localstack/localstack#3594: raw, a message of structure json is its text alone', async () => {
    const { topic, url } = await pair({ RawMessageDelivery: 'true' });
    const message = JSON.stringify({ default: JSON.stringify({ hello: 'world' }) });
    await topics.publish(topic, message, { MessageStructure: 'json' });
    expect(bodies(await queues.receive(url))).toEqual(['{"hello":"world"}']);
  });

  it('localstack/localstack#9154: subscribing again with RawMessageDelivery=True gives the same ARN', async () => {
    const { topic, endpoint, arn } = await pair({ RawMessageDelivery: 'True' });
    const place = { TopicArn: topic, Protocol: 'sqs', Endpoint: endpoint };
    for (const Attributes of [{ RawMessageDelivery: 'True' }, { RawMessageDelivery: 'true' }, {}]) {
      const again = await server.sns.send(new SubscribeCommand({ ...place, Attributes }));
      expect(again.SubscriptionArn).toBe(arn);
    }
  });

  it.each([
    [{ headers: { 'route-to': ['queue1'] } }, true],
    [{ headers: { 'route-to': ['queue2'] } }, false],
    [{ headers: { 'route-to': ['queue2', 'queue1'] } }, true],
    [{ headers: { 'route-to': 'queue1' } }, true],
    [{ headers: [{ 'route-to': 'queue1' }] }, true],
    [{ headers: {} }, false],
  ])(
    'localstack/localstack#10567: arrays in a body pass a filter by any element: %j',
    async (body, comes) => {
      const FilterPolicy = JSON.stringify({ headers: { 'route-to': ['queue1'] } });
      const filter = { FilterPolicy, FilterPolicyScope: 'MessageBody', RawMessageDelivery: 'true' };
      const { topic, url } = await pair(filter);
      await topics.publish(topic, JSON.stringify(body));
      expect(await queues.receive(url)).toHaveLength(comes ? 1 : 0);
    },
  );

  it('localstack/localstack#684: an attribute of type String.Array passes by any element', async () => {
    const { topic, url } = await pair({ FilterPolicy: '{"kind":["b"]}', RawMessageDelivery: 'true' });
    for (const list of ['["a","b"]', '["a"]']) {
      const kind = { DataType: 'String.Array', StringValue: list };
      await topics.publish(topic, list, { MessageAttributes: { kind } });
    }
    expect(bodies(await queues.receive(url))).toEqual(['["a","b"]']);
  });

  it.each(['true', 'false'])(
    'localstack/localstack#4594, #131: attributes come beside the message when raw is %s set later',
    async (raw) => {
      const { topic, url, arn } = await pair({});
      await topics.set(arn, 'RawMessageDelivery', raw);
      const MessageAttributes = { k: { DataType: 'String', StringValue: 'v' } };
      await topics.publish(topic, 'text', { MessageAttributes });
      const [message] = await queues.receive(url, { MessageAttributeNames: ['All'] });
      if (raw === 'true') {
        expect(message).toMatchObject({ Body: 'text', MessageAttributes });
      } else {
        expect(message?.MessageAttributes).toBeUndefined();
        const { MessageAttributes: inside } = JSON.parse(message?.Body ?? '') as Record<string, unknown>;
        expect(inside).toEqual({ k: { Type: 'String', Value: 'v' } });
      }
    },
  );

  it('localstack/localstack#7398: Subscribe takes scope and policy in either order', async () => {
    const policy = '{"messageType":["add-product"],"order":{"kind":["a"]}}';
    const { TopicArn } = await server.sns.send(new CreateTopicCommand({ Name: 'scoped' }));
    for (const names of [
      ['FilterPolicy', 'FilterPolicyScope'],
      ['FilterPolicyScope', 'FilterPolicy'],
    ]) {
      const value = (name: string) => (name === 'FilterPolicy' ? policy : 'MessageBody');
      const Attributes = Object.fromEntries(names.map((name) => [name, value(name)]));
      const Endpoint = queueArn(names[0] ?? '');
      const arn = await topics.subscribe(TopicArn ?? '', Endpoint, Attributes);
      expect(await topics.attributesOf(arn)).toMatchObject({
        FilterPolicyScope: 'MessageBody',
        FilterPolicy: policy,
      });
    }
  });
});
