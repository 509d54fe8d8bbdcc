import {
  CreateTopicCommand,
  DeleteTopicCommand,
  GetSubscriptionAttributesCommand,
  GetTopicAttributesCommand,
  ListTagsForResourceCommand,
  SetSubscriptionAttributesCommand,
  SetTopicAttributesCommand,
  SubscribeCommand,
  UnsubscribeCommand,
} from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ListQueueTagsCommand,
  SetQueueAttributesCommand,
  type QueueAttributeName,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, startAwsServer, type AwsServer } from './aws-server.js';

/*
 * What Terraform's provider does with its resources: it creates, reads back until every attribute is as it was set (JSON by
 * its meaning), and plans again: any difference would be a change that never ends. What it takes back it sets to nothing and
 * waits for to be gone.
 */

let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer();
});
afterAll(() => server.stop());

type Attributes = Readonly<Record<string, string>>;

/** What is wanted and not read back, JSON compared by its meaning. */
function planned(wanted: Attributes, read: Attributes | undefined): Record<string, unknown> {
  const meaning = (text: string | undefined): unknown => {
    try {
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    } catch {
      return text;
    }
  };
  const differing = Object.entries(wanted).filter(
    ([name, value]) =>
      JSON.stringify(sorted(meaning(value))) !== JSON.stringify(sorted(meaning(read?.[name]))),
  );
  return Object.fromEntries(differing.map(([name]) => [name, read?.[name]]));
}

/** The same value with the keys of its objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}

const readQueue = async (QueueUrl: string): Promise<Attributes | undefined> =>
  (await server.sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }))).Attributes;

const setQueue = (QueueUrl: string, of: Partial<Record<QueueAttributeName, string>>): Promise<unknown> =>
  server.sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: of }));

async function createQueue(name: string, of: Attributes, tags: Attributes = {}): Promise<string> {
  const made = await server.sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: of, tags }));
  return made.QueueUrl ?? '';
}

/** All that the resource `aws_sqs_queue` sends when nothing was said but the name. */
const QUEUE_DEFAULTS = {
  DelaySeconds: '0',
  MaximumMessageSize: '262144',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
  VisibilityTimeout: '30',
};

const arnOf = (name: string): string => `arn:aws:sqs:kubemq:000000000000:${name}`;
const policyFor = (resource: string, action: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 's',
        Effect: 'Allow',
        Principal: { Service: 'sns.amazonaws.com' },
        Action: action,
        Resource: resource,
        Condition: { ArnEquals: { 'aws:SourceArn': 'arn:aws:sns:kubemq:000000000000:t' } },
      },
    ],
  });

describe('aws_sqs_queue', () => {
  it.each<[string, string, Attributes]>([
    ['with defaults', 'plain', {}],
    [
      'with all that can be set',
      'full',
      {
        DelaySeconds: '90',
        MaximumMessageSize: '2048',
        MessageRetentionPeriod: '86400',
        ReceiveMessageWaitTimeSeconds: '10',
        VisibilityTimeout: '0',
        SqsManagedSseEnabled: 'false',
      },
    ],
    ['with a key', 'key', { KmsMasterKeyId: 'alias/aws/sqs', KmsDataKeyReusePeriodSeconds: '300' }],
    [
      'FIFO of high throughput',
      'fast.fifo',
      {
        FifoQueue: 'true',
        ContentBasedDeduplication: 'true',
        DeduplicationScope: 'messageGroup',
        FifoThroughputLimit: 'perMessageGroupId',
      },
    ],
    ['FIFO with defaults', 'plain.fifo', { FifoQueue: 'true' }],
  ])('%s reads back, changes and is created again without a difference', async (_, name, of) => {
    const wanted = { ...QUEUE_DEFAULTS, ...of };
    const tags = { env: 'test', empty: '' };
    const url = await createQueue(name, wanted, tags);
    expect(planned(wanted, await readQueue(url))).toEqual({});
    expect((await server.sqs.send(new ListQueueTagsCommand({ QueueUrl: url }))).Tags).toEqual(tags);
    expect(await createQueue(name, wanted, tags)).toBe(url);
    const changed = { ...wanted, VisibilityTimeout: '7', MessageRetentionPeriod: '60' };
    const settable = Object.entries(changed).filter(([key]) => key !== 'FifoQueue');
    await setQueue(url, Object.fromEntries(settable));
    expect(planned(changed, await readQueue(url))).toEqual({});
    await server.sqs.send(new DeleteQueueCommand({ QueueUrl: url }));
    expect(await refusal(readQueue(url))).toMatchObject({ code: 'QueueDoesNotExist', status: 400 });
  });

  it('with policy, redrive and redrive-allow policy, each a resource of its own or inline', async () => {
    const dead = await createQueue('dead', QUEUE_DEFAULTS);
    const inline = {
      ...QUEUE_DEFAULTS,
      Policy: policyFor(arnOf('work'), 'sqs:SendMessage'),
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arnOf('dead'), maxReceiveCount: 4 }),
    };
    const url = await createQueue('work', inline);
    expect(planned(inline, await readQueue(url))).toEqual({});
    const allow = { redrivePermission: 'byQueue', sourceQueueArns: [arnOf('work')] };
    const resources: Attributes = {
      Policy: policyFor(arnOf('work'), 'sqs:*'),
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arnOf('dead'), maxReceiveCount: 10 }),
    };
    for (const [attribute, value] of Object.entries(resources)) {
      await setQueue(url, { [attribute]: value });
      expect(planned({ [attribute]: value }, await readQueue(url))).toEqual({});
    }
    expect(planned({ ...inline, ...resources }, await readQueue(url))).toEqual({});
    await setQueue(dead, { RedriveAllowPolicy: JSON.stringify(allow) });
    expect(planned({ RedriveAllowPolicy: JSON.stringify(allow) }, await readQueue(dead))).toEqual({});
    for (const attribute of ['Policy', 'RedrivePolicy', 'RedriveAllowPolicy'] as const) {
      const at = attribute === 'RedriveAllowPolicy' ? dead : url;
      await setQueue(at, { [attribute]: '' });
      expect(await readQueue(at)).not.toHaveProperty(attribute);
    }
    expect(planned(QUEUE_DEFAULTS, await readQueue(url))).toEqual({});
  });
});

const readTopic = async (TopicArn: string): Promise<Attributes | undefined> =>
  (await server.sns.send(new GetTopicAttributesCommand({ TopicArn }))).Attributes;

const readSubscription = async (SubscriptionArn: string): Promise<Attributes | undefined> =>
  (await server.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }))).Attributes;

describe('aws_sns_topic', () => {
  it.each<[string, string, Attributes, Attributes]>([
    [
      'standard',
      'topic',
      {},
      {
        DisplayName: 'shown',
        DeliveryPolicy: JSON.stringify({
          http: {
            defaultHealthyRetryPolicy: {
              minDelayTarget: 20,
              maxDelayTarget: 20,
              numRetries: 3,
              numMaxDelayRetries: 0,
              numNoDelayRetries: 0,
              numMinDelayRetries: 0,
              backoffFunction: 'linear',
            },
            disableSubscriptionOverrides: false,
            defaultThrottlePolicy: { maxReceivesPerSecond: 1 },
          },
        }),
        KmsMasterKeyId: 'alias/aws/sns',
        SignatureVersion: '2',
        TracingConfig: 'Active',
        SQSSuccessFeedbackSampleRate: '50',
        SQSFailureFeedbackRoleArn: 'arn:aws:iam::000000000000:role/feedback',
      },
    ],
    [
      'FIFO',
      'topic.fifo',
      { FifoTopic: 'true', ContentBasedDeduplication: 'true' },
      {
        FifoThroughputScope: 'MessageGroup',
      },
    ],
  ])('%s reads back, is created again, and gives everything up', async (_, Name, born, later) => {
    const Tags = [{ Key: 'env', Value: 'test' }];
    const create = new CreateTopicCommand({ Name, Attributes: born, Tags });
    const TopicArn = (await server.sns.send(create)).TopicArn ?? '';
    for (const [AttributeName, AttributeValue] of Object.entries(later)) {
      await server.sns.send(new SetTopicAttributesCommand({ TopicArn, AttributeName, AttributeValue }));
    }
    expect(planned({ ...born, ...later }, await readTopic(TopicArn))).toEqual({});
    const list = new ListTagsForResourceCommand({ ResourceArn: TopicArn });
    expect((await server.sns.send(list)).Tags).toEqual(Tags);
    expect((await server.sns.send(create)).TopicArn).toBe(TopicArn);
    const Policy = policyFor(TopicArn, 'sns:Publish');
    const set = { TopicArn, AttributeName: 'Policy', AttributeValue: Policy };
    await server.sns.send(new SetTopicAttributesCommand(set));
    expect(planned({ Policy }, await readTopic(TopicArn))).toEqual({});
    await server.sns.send(new DeleteTopicCommand({ TopicArn }));
    expect(await refusal(readTopic(TopicArn))).toMatchObject({ code: 'NotFoundException', status: 404 });
  });
});

describe('aws_sns_topic_subscription', () => {
  it('reads back what it subscribed with, changes, clears and goes', async () => {
    const TopicArn = (await server.sns.send(new CreateTopicCommand({ Name: 'subscribed' }))).TopicArn ?? '';
    const wanted: Attributes = {
      RawMessageDelivery: 'true',
      FilterPolicy: JSON.stringify({ kind: ['a', { prefix: 'b' }] }),
      FilterPolicyScope: 'MessageAttributes',
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arnOf('dead') }),
    };
    const place = { TopicArn, Protocol: 'sqs', Endpoint: arnOf('target') };
    const subscribe = new SubscribeCommand({ ...place, Attributes: wanted, ReturnSubscriptionArn: true });
    const SubscriptionArn = (await server.sns.send(subscribe)).SubscriptionArn ?? '';
    const fixed = { ...place, SubscriptionArn, Owner: '000000000000', PendingConfirmation: 'false' };
    const isConfirmed = { ConfirmationWasAuthenticated: 'true' };
    expect(planned({ ...wanted, ...fixed, ...isConfirmed }, await readSubscription(SubscriptionArn))).toEqual(
      {},
    );
    expect((await server.sns.send(subscribe)).SubscriptionArn).toBe(SubscriptionArn);
    const changed: Attributes = {
      FilterPolicyScope: 'MessageBody',
      FilterPolicy: JSON.stringify({ order: { kind: ['c'] } }),
      RawMessageDelivery: 'false',
    };
    const set = (AttributeName: string, AttributeValue: string): Promise<unknown> =>
      server.sns.send(
        new SetSubscriptionAttributesCommand({ SubscriptionArn, AttributeName, AttributeValue }),
      );
    for (const [name, value] of Object.entries(changed)) await set(name, value);
    expect(planned({ ...wanted, ...changed, ...fixed }, await readSubscription(SubscriptionArn))).toEqual({});
    await set('FilterPolicy', '{}');
    await set('RedrivePolicy', '{}');
    const cleared = await readSubscription(SubscriptionArn);
    expect(cleared).not.toHaveProperty('FilterPolicy');
    expect(cleared).not.toHaveProperty('RedrivePolicy');
    await server.sns.send(new UnsubscribeCommand({ SubscriptionArn }));
    expect(await refusal(readSubscription(SubscriptionArn))).toMatchObject({
      code: 'NotFoundException',
      status: 404,
    });
  });
});
