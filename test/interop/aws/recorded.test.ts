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
