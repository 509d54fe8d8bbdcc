import { CreateTopicCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { createPublicKey, verify, X509Certificate } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';
import { Hook, queueArn, Topics } from './sns-rig.js';

/*
 * Mistakes that servers of SNS made and their users reported: each is tried here for what AWS does. The reports are named by
 * project and number.
 */

let server: AwsServer;
let topics: Topics;
let queues: Queues;
let names = 0;
const hooks: Hook[] = [];

beforeAll(async () => {
  server = await startAwsServer();
  topics = new Topics(server);
  queues = new Queues(server);
});
afterEach(async () => {
  await Promise.all(hooks.splice(0).map((hook) => hook.stop()));
});
afterAll(() => server.stop());

async function newQueue(): Promise<{ url: string; arn: string }> {
  const name = `bug${++names}`;
  return { url: await queues.create({}, name), arn: queueArn(name) };
}

/** One request of the Query protocol, as it stands on the wire. */
async function query(fields: Record<string, string>): Promise<{ status: number; text: string }> {
  const answer = await fetch(server.url, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: answer.status, text: await answer.text() };
}

const bodiesOf = async (url: string) => (await queues.receive(url)).map(({ Body }) => Body);
const text = (StringValue: string) => ({ DataType: 'String', StringValue });

describe('subscriptions', () => {
  it('floci-io/floci#469: attributes of Subscribe are kept and hold', async () => {
    const TopicArn = await topics.create();
    const { url, arn } = await newQueue();
    const { text: xml } = await query({
      Action: 'Subscribe',
      Version: '2010-03-31',
      TopicArn,
      Protocol: 'sqs',
      Endpoint: arn,
      'Attributes.entry.1.key': 'FilterPolicy',
      'Attributes.entry.1.value': '{"k":["x"]}',
      'Attributes.entry.2.key': 'RawMessageDelivery',
      'Attributes.entry.2.value': 'true',
    });
    const subscription = /<SubscriptionArn>([^<]+)</.exec(xml)?.[1] ?? '';
    expect(await topics.attributesOf(subscription)).toMatchObject({
      FilterPolicy: '{"k":["x"]}',
      RawMessageDelivery: 'true',
    });
    await topics.publish(TopicArn, 'no');
    await topics.publish(TopicArn, 'yes', { MessageAttributes: { k: text('x') } });
    expect(await bodiesOf(url)).toEqual(['yes']);
  });

  it('localstack/localstack#4379: what must not exist is looked at beside what must', async () => {
    const topic = await topics.create();
    const { url, arn } = await newQueue();
    const FilterPolicy = '{"source":["a"],"priority":[{"exists":false}]}';
    await topics.subscribe(topic, arn, { FilterPolicy, RawMessageDelivery: 'true' });
    await topics.publish(topic, 'yes', { MessageAttributes: { source: text('a') } });
    await topics.publish(topic, 'no', { MessageAttributes: { source: text('a'), priority: text('1') } });
    expect(await bodiesOf(url)).toEqual(['yes']);
  });

  it('getmoto/moto#5304: numbers are compared by value, and written as numbers', async () => {
    const topic = await topics.create();
    const { url, arn } = await newQueue();
    const FilterPolicy = '{"p":[{"numeric":["=",0]}]}';
    const subscription = await topics.subscribe(topic, arn, { FilterPolicy, RawMessageDelivery: 'true' });
    for (const StringValue of ['0', '0.0', '0e0', '1']) {
      const p = { DataType: 'Number', StringValue };
      await topics.publish(topic, StringValue, { MessageAttributes: { p } });
    }
    expect(await bodiesOf(url)).toEqual(['0', '0.0', '0e0']);
    const asText = topics.set(subscription, 'FilterPolicy', '{"p":[{"numeric":["=","0"]}]}');
    expect((await refusal(asText)).code).toBe('InvalidParameterException');
  });

  it('MassTransit/MassTransit#1476, localstack/localstack#1651: True is true', async () => {
    const subscription = await topics.subscribe(await topics.create(), (await newQueue()).arn, {
      RawMessageDelivery: 'True',
    });
    expect((await topics.attributesOf(subscription))['RawMessageDelivery']).toBe('true');
  });

  it('localstack/localstack#10009: an empty policy takes the filter back', async () => {
    const topic = await topics.create();
    const { url, arn } = await newQueue();
    const subscription = await topics.subscribe(topic, arn, { RawMessageDelivery: 'true' });
    for (const empty of ['{}', '']) {
      await topics.set(subscription, 'FilterPolicy', '{"k":["x"]}');
      await topics.publish(topic, 'filtered');
      await topics.set(subscription, 'FilterPolicy', empty);
      await topics.publish(topic, 'passed');
    }
    expect(await bodiesOf(url)).toEqual(['passed', 'passed']);
  });

  it('cloudposse/terraform-aws-sns-topic#48, localstack/localstack#6639: dead letters take no count and keep types', async () => {
    const topic = await topics.create();
    const { url, arn } = await newQueue();
    const subscription = await topics.subscribe(topic, queueArn('not-there'), { RawMessageDelivery: 'true' });
    const policy = (extra: object) => JSON.stringify({ deadLetterTargetArn: arn, ...extra });
    expect(
      (await refusal(topics.set(subscription, 'RedrivePolicy', policy({ maxReceiveCount: 3 })))).message,
    ).toBe('Invalid parameter: RedrivePolicy: invalid JSON. Attribute maxReceiveCount is unknown.');
    await topics.set(subscription, 'RedrivePolicy', policy({}));
    const MessageAttributes = {
      b: { DataType: 'Binary', BinaryValue: Buffer.from([1, 2]) },
      n: { DataType: 'Number.int', StringValue: '7' },
    };
    await topics.publish(topic, 'x', { MessageAttributes });
    const [letter] = await queues.receive(url, { MessageAttributeNames: ['All'] });
    expect(letter?.MessageAttributes).toMatchObject({
      b: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2]) },
      n: { DataType: 'Number.int', StringValue: '7' },
    });
  });
});

describe('the start of a service bus', () => {
  it('MassTransit/MassTransit#2023: two instances set up the same topology at once, and messages flow', async () => {
    const { sqs, sns } = server;
    const start = async () => {
      const { TopicArn = '' } = await sns.send(new CreateTopicCommand({ Name: 'bus-event' }));
      const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: 'bus-endpoint' }));
      const ask = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
      const arn = (await sqs.send(ask)).Attributes?.['QueueArn'] ?? '';
      await topics.subscribe(TopicArn, arn, { RawMessageDelivery: 'true' });
      const Policy = JSON.stringify({
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Allow',
            Principal: '*',
            Action: 'sqs:SendMessage',
            Resource: arn,
            Condition: { ArnLike: { 'aws:SourceArn': TopicArn } },
          },
        ],
      });
      await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy } }));
      return { TopicArn, QueueUrl };
    };
    const [one, other] = await Promise.all([start(), start()]);
    expect(one).toEqual(other);
    await topics.publish(one.TopicArn, 'event');
    expect(await bodiesOf(one.QueueUrl)).toEqual(['event']);
  });
});

describe('the handshake', () => {
  it('localstack/localstack#8118, #6234, #2381, floci-io/floci#1081: the link as posted confirms, whatever the endpoint answered', async () => {
    const hook = await Hook.start();
    hooks.push(hook);
    hook.answer = () => 404;
    const topic = await topics.create();
    const subscription = await topics.subscribe(topic, hook.url);
    const { SubscribeURL = '' } = JSON.parse((await hook.post(1)).body) as { SubscribeURL?: string };
    expect(SubscribeURL).not.toContain('Version');
    const answer = await fetch(SubscribeURL);
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining('<ConfirmSubscriptionResponse'),
    ]);
    expect((await topics.attributesOf(subscription))['PendingConfirmation']).toBe('false');
    hook.answer = () => 200;
    await topics.publish(topic, 'arrives');
    expect(JSON.parse((await hook.post(2)).body)).toMatchObject({ Message: 'arrives' });
  });

  it('localstack/localstack#5846, #12179: the end is told, and signed with SubscribeURL and Token', async () => {
    const hook = await Hook.start();
    hooks.push(hook);
    const topic = await topics.create({ SignatureVersion: '2' });
    const subscription = await topics.subscribe(topic, hook.url);
    const { SubscribeURL = '' } = JSON.parse((await hook.post(1)).body) as { SubscribeURL?: string };
    await fetch(SubscribeURL);
    await query({ Action: 'Unsubscribe', Version: '2010-03-31', SubscriptionArn: subscription });
    const farewell = JSON.parse((await hook.post(2)).body) as Record<string, string>;
    expect(farewell['Type']).toBe('UnsubscribeConfirmation');
    const keys = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
    const signed = keys.map((key) => `${key}\n${farewell[key]}\n`).join('');
    const certificate = new X509Certificate(await (await fetch(farewell['SigningCertURL'] ?? '')).text());
    const key = createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' }));
    const signature = Buffer.from(farewell['Signature'] ?? '', 'base64');
    expect(verify('sha256', Buffer.from(signed), key, signature)).toBe(true);
  });
});
