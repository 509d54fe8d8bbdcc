import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { startAwsServer, type AwsServer } from './aws-server.js';
import { ARN, bodiesOf, codeOf, FIFO, handleOf, listIn, RawSqs, type Fields } from './raw-client.js';

/*
 * What AWS answered when others recorded it: the snapshots of LocalStack's tests, by the name of the test. Here are those that
 * no other test has.
 */

const clock = new ManualClock();
let server: AwsServer;
let sqs: RawSqs;

beforeAll(async () => {
  server = await startAwsServer({ clock });
  sqs = new RawSqs(server.url);
});
afterAll(() => server.stop());

describe('a handle of a receive that hid nothing', () => {
  it('is an expired one: it changes nothing of a later delivery (terminate_visibility_timeout_after_receive)', async () => {
    const queue = await sqs.make();
    await sqs.send(queue, 'x');
    const ReceiptHandle = handleOf(await sqs.receive(queue, { VisibilityTimeout: 0 }));
    await sqs.receive(queue, { VisibilityTimeout: 3 });
    const change = { QueueUrl: queue, ReceiptHandle, VisibilityTimeout: 0 };
    expect((await sqs.json('ChangeMessageVisibility', change)).status).toBe(200);
  });

  it('deletes from a standard queue, and from a FIFO queue nothing', async () => {
    for (const [attributes, ids, left] of [
      [{}, {}, []],
      [FIFO, { MessageGroupId: 'g' }, ['x']],
    ] as const) {
      const queue = await sqs.make(attributes);
      await sqs.send(queue, 'x', ids);
      const ReceiptHandle = handleOf(await sqs.receive(queue, { VisibilityTimeout: 0 }));
      const answer = await sqs.json('DeleteMessage', { QueueUrl: queue, ReceiptHandle });
      expect(answer.text.includes('The receipt handle has expired.')).toBe(left.length > 0);
      expect(bodiesOf(await sqs.receive(queue))).toEqual(left);
    }
  });

  it('is kept as long as any other from the twelve hours', async () => {
    const queue = await sqs.make();
    await sqs.send(queue, 'x');
    const ReceiptHandle = handleOf(await sqs.receive(queue, { VisibilityTimeout: 0 }));
    const change = { QueueUrl: queue, ReceiptHandle, VisibilityTimeout: 43_200 };
    expect((await sqs.json('ChangeMessageVisibility', change)).status).toBe(200);
  });
});

describe('a message to send', () => {
  it('has the trace of the request (aws_trace_header_propagation)', async () => {
    const queue = await sqs.make();
    const trace = 'Root=1-3152b799-8954dae64eda91bc9a23a7e8;Parent=7fa8c0f79203be72;Sampled=1';
    const headers = { 'x-amzn-trace-id': trace };
    const one = await sqs.json('SendMessage', { QueueUrl: queue, MessageBody: 'one' }, headers);
    expect(one.body).not.toHaveProperty('MD5OfMessageSystemAttributes');
    const Entries = [{ Id: 'a', MessageBody: 'two' }];
    await sqs.json('SendMessageBatch', { QueueUrl: queue, Entries }, headers);
    const AWSTraceHeader = { DataType: 'String', StringValue: 'Root=own' };
    const MessageSystemAttributes = { AWSTraceHeader };
    await sqs.json('SendMessage', { QueueUrl: queue, MessageBody: 'own', MessageSystemAttributes }, headers);
    const received = await sqs.receive(queue, { MessageSystemAttributeNames: ['AWSTraceHeader'] });
    expect(received.map(({ Attributes }) => Attributes)).toEqual([
      { AWSTraceHeader: trace },
      { AWSTraceHeader: trace },
      { AWSTraceHeader: 'Root=own' },
    ]);
  });

  it('may have letters of any alphabet in the names of its attributes (send_message_with_invalid_string_attributes)', async () => {
    const queue = await sqs.make();
    const of = (name: string): Fields => ({
      MessageAttributes: { [name]: { DataType: 'String', StringValue: 'Valid' } },
    });
    expect((await sqs.send(queue, 'x', of('attr.1øßä'))).status).toBe(200);
    for (const bad of ['!', '"', '§', '(', '?']) {
      expect(codeOf(await sqs.send(queue, 'x', of(`Invalid-${bad}-attr`)))).toBe(
        'InvalidParameterValue;Sender',
      );
    }
    const [message = {}] = await sqs.receive(queue, { MessageAttributeNames: ['attr.*'] });
    expect(Object.keys(message['MessageAttributes'] as object)).toEqual(['attr.1øßä']);
  });

  it('of a batch that is too long has a text of its own (send_batch_message_size)', async () => {
    const queue = await sqs.make({ MaximumMessageSize: '1024' });
    const Entries = [{ Id: 'a', MessageBody: 'x'.repeat(1_025) }];
    const answer = await sqs.json('SendMessageBatch', { QueueUrl: queue, Entries });
    expect(listIn(answer, 'Failed')).toEqual([
      {
        Id: 'a',
        SenderFault: true,
        Code: 'InvalidParameterValue',
        Message:
          'One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.',
      },
    ]);
  });
});

it('a key that is taken back leaves a queue without encryption (set_queue_attributes_default_values)', async () => {
  const QueueUrl = await sqs.make();
  const set = (Attributes: Fields) => sqs.json('SetQueueAttributes', { QueueUrl, Attributes });
  await set({ KmsMasterKeyId: 'testKeyId', KmsDataKeyReusePeriodSeconds: '6000' });
  await set({ KmsMasterKeyId: '', KmsDataKeyReusePeriodSeconds: '300' });
  const { Attributes = {} } = await server.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }),
  );
  expect(Attributes['SqsManagedSseEnabled']).toBe('false');
  expect(Attributes).not.toHaveProperty('KmsMasterKeyId');
  expect(Attributes).not.toHaveProperty('KmsDataKeyReusePeriodSeconds');
});

describe('XML', () => {
  it('closes what is empty where it opens it (get_send_and_receive_messages)', async () => {
    const queue = await sqs.make();
    const { text } = await sqs.query({ Action: 'ReceiveMessage', QueueUrl: queue, Version: '2012-11-05' });
    expect(text).toContain('<ReceiveMessageResult/>');
  });

  it('has no details in the errors of SNS, and empty ones in those of SQS (add_permission_errors, send_empty_message)', async () => {
    const sns = await sqs.query({ Action: 'GetTopicAttributes', TopicArn: 'x', Version: '2010-03-31' });
    expect(sns.body['Error']).toEqual({
      Type: 'Sender',
      Code: 'InvalidParameter',
      Message: 'Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1',
    });
    const ofSqs = await sqs.query({ Action: 'GetQueueUrl', QueueName: 'none', Version: '2012-11-05' });
    expect(ofSqs.body['Error']).toHaveProperty('Detail', '');
  });
});

it('a message whose last delivery hid it for no time is in the dead-letter queue when that is answered', async () => {
  const dead = await sqs.make();
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: ARN + dead, maxReceiveCount: 1 });
  const queue = await sqs.make({ RedrivePolicy });
  await sqs.send(queue, 'a');
  await sqs.send(queue, 'b');
  expect(bodiesOf(await sqs.receive(queue, { MaxNumberOfMessages: 1, VisibilityTimeout: 0 }))).toEqual(['a']);
  expect(bodiesOf(await sqs.receive(dead))).toEqual(['a']);
  const ReceiptHandle = handleOf(await sqs.receive(queue));
  await sqs.json('ChangeMessageVisibility', { QueueUrl: queue, ReceiptHandle, VisibilityTimeout: 0 });
  expect(bodiesOf(await sqs.receive(dead))).toEqual(['b']);
});

it('an older handle deletes what nobody holds, whoever received it since (filter_policy)', async () => {
  const queue = await sqs.make();
  await sqs.send(queue, 'x');
  const ReceiptHandle = handleOf(await sqs.receive(queue, { VisibilityTimeout: 0 }));
  await sqs.receive(queue, { VisibilityTimeout: 0 });
  await sqs.receive(queue, { VisibilityTimeout: 0 });
  await sqs.json('DeleteMessage', { QueueUrl: queue, ReceiptHandle });
  expect(await sqs.receive(queue)).toEqual([]);
});

describe('SNS', () => {
  const sns = (Action: string, fields: Record<string, string>) =>
    sqs.query({ Action, Version: '2010-03-31', ...fields });
  const topic = async (attributes: Record<string, string> = {}): Promise<string> => {
    const given = Object.entries(attributes).flatMap(([key, value], i) => [
      [`Attributes.entry.${i + 1}.key`, key],
      [`Attributes.entry.${i + 1}.value`, value],
    ]);
    const Name = `${sqs.newName()}${attributes['FifoTopic'] === 'true' ? '.fifo' : ''}`;
    const { text } = await sns('CreateTopic', { Name, ...(Object.fromEntries(given) as object) });
    return /<TopicArn>(.*)<\/TopicArn>/.exec(text)?.[1] ?? '';
  };
  const messageOf = async (answer: ReturnType<typeof sns>): Promise<unknown> =>
    ((await answer).body['Error'] as Fields | undefined)?.['Message'];
  const attribute = (text: string, name: string): unknown =>
    new RegExp(`<key>${name}</key><value>([^<]*)</value>`).exec(text)?.[1];

  it('says the same of all names that are none (create_topic_name_constraints)', async () => {
    const fifo = { 'Attributes.entry.1.key': 'FifoTopic', 'Attributes.entry.1.value': 'true' };
    for (const given of [{ Name: 'x', ...fifo }, { Name: 'x.fifo' }, { Name: 'a b' }, { Name: '' }]) {
      expect(await messageOf(sns('CreateTopic', given))).toBe('Invalid parameter: Topic Name');
    }
  });

  it('names what is missing (unsubscribe_wrong_arn_format)', async () => {
    expect(await messageOf(sns('Unsubscribe', {}))).toBe(
      'Invalid parameter: SubscriptionArn Reason: no value for required parameter',
    );
  });

  it('subscribes again with what is so by itself (subscribe_idempotency)', async () => {
    const given = { TopicArn: await topic(), Protocol: 'sqs', Endpoint: `${ARN}any` };
    const again = { 'Attributes.entry.1.key': 'FilterPolicyScope' };
    const { body } = await sns('Subscribe', given);
    const same = await sns('Subscribe', {
      ...given,
      ...again,
      'Attributes.entry.1.value': 'MessageAttributes',
    });
    expect(same.body['SubscribeResult']).toEqual(body['SubscribeResult']);
    const other = { ...given, ...again, 'Attributes.entry.1.value': 'MessageBody' };
    expect(await messageOf(sns('Subscribe', other))).toContain('already exists with different attributes');
  });

  it('looks at the structure of a batch first (publish_batch_exceptions)', async () => {
    const entry = 'PublishBatchRequestEntries.member.1';
    const given = {
      TopicArn: await topic({ FifoTopic: 'true' }),
      [`${entry}.Id`]: '1',
      [`${entry}.Message`]: '{"sqs":"test sqs"}',
      [`${entry}.MessageStructure`]: 'json',
    };
    expect(await messageOf(sns('PublishBatch', given))).toBe(
      'Invalid parameter: Message Structure - No default entry in JSON message body',
    );
  });

  it('shows a delivery policy with what was not said, and no scope of throughput that was not', async () => {
    const TopicArn = await topic({ FifoTopic: 'true' });
    const http = { defaultRequestPolicy: { headerContentType: 'application/json' } };
    const AttributeValue = JSON.stringify({ http });
    await sns('SetTopicAttributes', { TopicArn, AttributeName: 'DeliveryPolicy', AttributeValue });
    const { text } = await sns('GetTopicAttributes', { TopicArn });
    const policy = String(attribute(text, 'DeliveryPolicy')).replaceAll('&quot;', '"');
    expect(JSON.parse(policy)).toEqual({ http: { ...http, disableSubscriptionOverrides: false } });
    expect(attribute(text, 'FifoThroughputScope')).toBeUndefined();
    expect(attribute(text, 'ContentBasedDeduplication')).toBe('false');
  });

  it('tells a token that is no number from one that it does not know (confirm_subscription_wrong_token)', async () => {
    const TopicArn = await topic();
    expect(await messageOf(sns('ConfirmSubscription', { TopicArn, Token: 'randomtoken' }))).toBe(
      'Invalid token',
    );
    expect(await messageOf(sns('ConfirmSubscription', { TopicArn, Token: '51b2ff3edb475b7d' }))).toBe(
      'Invalid parameter: Token',
    );
  });

  it('leaves the groups of a FIFO topic behind on the way to a standard queue (fifo_topic_to_regular_sqs)', async () => {
    const queue = await sqs.make();
    const TopicArn = await topic({ FifoTopic: 'true' });
    await sns('Subscribe', { TopicArn, Protocol: 'sqs', Endpoint: ARN + queue });
    await sns('Publish', { TopicArn, Message: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'd' });
    const [message = {}] = await sqs.receive(queue, { MessageSystemAttributeNames: ['All'] });
    expect(message['Body']).toContain('"Message" : "x"');
    expect(message['Attributes']).not.toHaveProperty('MessageGroupId');
  });
});
