import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAwsServer, type AwsServer } from './aws-server.js';
import { ACCOUNT, ARN } from './raw-client.js';

/** As API Gateway's integrations and small clients ask: Query, with an answer in JSON. */
let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer();
});
afterAll(() => server.stop());

async function ask(
  parameters: Readonly<Record<string, string>>,
  { path = '/', method = 'GET', accept = 'application/json' } = {},
): Promise<{ status: number; type: string | null; body: unknown }> {
  const form = new URLSearchParams(parameters);
  const headers = { accept };
  const response =
    method === 'GET'
      ? await fetch(`${server.url}${path}?${form.toString()}`, { headers })
      : await fetch(server.url + path, { method, headers, body: form });
  const text = await response.text();
  const type = response.headers.get('content-type');
  return { status: response.status, type, body: type === 'application/json' ? JSON.parse(text) : text };
}

const UUID = /^[0-9a-f-]{36}$/;
const metadata = { RequestId: expect.stringMatching(UUID) as string };

describe('a Query request that accepts JSON', () => {
  it('of SQS has the structure of the XML, with null for what is absent', async () => {
    const path = `/${ACCOUNT}/q`;
    const QueueUrl = `${server.url}${path}`;
    expect(await ask({ Action: 'ListQueues' })).toMatchObject({
      body: { ListQueuesResponse: { ListQueuesResult: { queueUrls: null, NextToken: null } } },
    });
    expect(await ask({ Action: 'CreateQueue', QueueName: 'q' }, { method: 'POST' })).toEqual({
      status: 200,
      type: 'application/json',
      body: { CreateQueueResponse: { CreateQueueResult: { QueueUrl }, ResponseMetadata: metadata } },
    });
    expect((await ask({ Action: 'SendMessage', MessageBody: 'Hello' }, { path })).body).toEqual({
      SendMessageResponse: {
        SendMessageResult: {
          MD5OfMessageAttributes: null,
          MD5OfMessageBody: '8b1a9953c4611296a827abf8c47804d7',
          MD5OfMessageSystemAttributes: null,
          MessageId: expect.stringMatching(UUID) as string,
          SequenceNumber: null,
        },
        ResponseMetadata: metadata,
      },
    });
    const attributes = { Action: 'GetQueueAttributes', 'AttributeName.1': 'QueueArn' };
    expect((await ask(attributes, { path })).body).toMatchObject({
      GetQueueAttributesResponse: {
        GetQueueAttributesResult: { Attributes: [{ Name: 'QueueArn', Value: `${ARN}q` }] },
      },
    });
    const received = await ask({ Action: 'ReceiveMessage', 'AttributeName.1': 'SenderId' }, { path });
    expect(received.body).toMatchObject({
      ReceiveMessageResponse: {
        ReceiveMessageResult: {
          messages: [
            {
              Body: 'Hello',
              Attributes: [{ Name: 'SenderId', Value: 'anonymous' }],
              MessageAttributes: null,
            },
          ],
        },
      },
    });
    const none = await ask({ Action: 'ReceiveMessage' }, { path });
    expect(none.body).toMatchObject({ ReceiveMessageResponse: { ReceiveMessageResult: { messages: null } } });
    expect((await ask({ Action: 'PurgeQueue' }, { path })).body).toEqual({
      PurgeQueueResponse: { ResponseMetadata: metadata },
    });
  });

  it('of SNS has its maps as objects', async () => {
    const Version = '2010-03-31';
    await ask({ Action: 'CreateTopic', Name: 't', Version }, { method: 'POST' });
    const TopicArn = `arn:aws:sns:kubemq:${ACCOUNT}:t`;
    expect(await ask({ Action: 'ListTopics', Version })).toMatchObject({
      body: { ListTopicsResponse: { ListTopicsResult: { Topics: [{ TopicArn }] } } },
    });
    expect(await ask({ Action: 'GetTopicAttributes', TopicArn, Version })).toMatchObject({
      body: { GetTopicAttributesResponse: { GetTopicAttributesResult: { Attributes: { TopicArn } } } },
    });
    expect(
      (await ask({ Action: 'Publish', TopicArn, Message: 'm', Version }, { method: 'POST' })).body,
    ).toEqual({
      PublishResponse: {
        PublishResult: { MessageId: expect.stringMatching(UUID) as string, SequenceNumber: null },
        ResponseMetadata: metadata,
      },
    });
  });

  it('is refused in JSON, without an action as ever in XML', async () => {
    const path = `/${ACCOUNT}/q`;
    expect(await ask({ Action: 'ListQueues' }, { path })).toEqual({
      status: 400,
      type: 'application/json',
      body: {
        Error: {
          Code: 'InvalidAction',
          Message: 'The action ListQueues is not valid for this endpoint.',
          Type: 'Sender',
        },
        RequestId: expect.stringMatching(UUID) as string,
      },
    });
    expect(await ask({}, { path })).toMatchObject({ status: 404, type: 'text/xml' });
  });

  it('may name others beside JSON; who names none gets XML', async () => {
    const list = { Action: 'ListQueues' };
    const axios = await ask(list, { accept: 'application/json, text/plain, */*' });
    expect(axios.type).toBe('application/json');
    for (const accept of ['*/*', 'text/xml']) expect((await ask(list, { accept })).type).toBe('text/xml');
  });
});
