import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { SNSClient, CreateTopicCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, GetQueueUrlCommand, ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { XMLParser } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { signed } from './fuzz-requests.js';
import { CREDENTIALS, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';

let server: AwsServer;
const open: { destroy(): void }[] = [];

beforeAll(async () => {
  server = await startAwsServer({ config: { credentials: [CREDENTIALS] } });
});
afterAll(async () => {
  for (const client of open) client.destroy();
  await server.stop();
});

function clientOf(accessKeyId: string, secretAccessKey: string, systemClockOffset = 0): SQSClient {
  const client = new SQSClient({
    endpoint: server.url,
    region: 'eu-west-1',
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
    systemClockOffset,
  });
  open.push(client);
  return client;
}

describe('static credentials', () => {
  it('let the right ones in, in both protocols, at queue and endpoint, and are the sender', async () => {
    const queues = new Queues(server);
    const url = await queues.create();
    await queues.send(url, 'héllo ☃ ~!*()');
    const [message] = await queues.receive(url);
    expect(message?.Body).toBe('héllo ☃ ~!*()');
    expect(message?.Attributes?.['SenderId']).toBe(CREDENTIALS.accessKeyId);
    const topic = await server.sns.send(new CreateTopicCommand({ Name: 'topic' }));
    expect(topic.TopicArn).toMatch(/:topic$/);
  });

  it('refuse a wrong secret, a stranger and a wrong clock with the classes SDKs know', async () => {
    const call = (client: SQSClient) => refusal(client.send(new ListQueuesCommand({})));
    expect(await call(clientOf(CREDENTIALS.accessKeyId, 'wrong'))).toMatchObject({
      code: 'SignatureDoesNotMatch',
      status: 403,
    });
    expect(await call(clientOf('AKIDSTRANGER', 'secret'))).toMatchObject({
      code: 'InvalidClientTokenId',
      status: 403,
    });
    const late = clientOf(CREDENTIALS.accessKeyId, CREDENTIALS.secretAccessKey, -16 * 60_000);
    expect(await call(late)).toMatchObject({ code: 'SignatureDoesNotMatch', status: 403 });
    const sns = new SNSClient({
      endpoint: server.url,
      region: 'eu-west-1',
      credentials: { accessKeyId: CREDENTIALS.accessKeyId, secretAccessKey: 'wrong' },
      maxAttempts: 1,
    });
    open.push(sns);
    expect(await refusal(sns.send(new CreateTopicCommand({ Name: 'no' })))).toMatchObject({
      code: 'SignatureDoesNotMatch',
      status: 403,
    });
  });

  it("take a form at the queue's own path, signed over host and date alone (celery/kombu#2260)", async () => {
    const path = new URL(await new Queues(server).create({}, 'kombu')).pathname;
    const body = Buffer.from('Action=SendMessage&MessageBody=x&Version=2012-11-05');
    const { secretAccessKey: secret } = CREDENTIALS;
    const host = `127.0.0.1:${server.port}`;
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      ...signed(body, { host, service: 'sqs', secret, at: new Date(), path }),
    };
    const send = (to: string): Promise<Response> =>
      fetch(server.url + to, { method: 'POST', headers, body: new Uint8Array(body) });
    expect((await send(path)).status).toBe(200);
    // The path is signed, too.
    expect((await send(`${path}x`)).status).toBe(403);
  });

  it('cover all fields of a name, with nothing but commas between their values', async () => {
    const body = Buffer.from('Action=ListQueues&Version=2012-11-05');
    const { secretAccessKey: secret } = CREDENTIALS;
    const host = `127.0.0.1:${server.port}`;
    const status = async (line: string, values: readonly string[]): Promise<number | undefined> => {
      const more = { name: 'x-my-header', line };
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'x-my-header': [...values],
        ...signed(body, { host, service: 'sqs', secret, at: new Date(), more }),
      };
      const call = request(server.url, { method: 'POST', headers }).end(body);
      const [answer] = (await once(call, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect(await status('x-my-header:one', ['one'])).toBe(200);
    expect(await status('x-my-header:one,two', ['one', 'two'])).toBe(200);
    expect(await status('x-my-header:one', ['one', 'two'])).toBe(403);
  });

  it('let an SDK correct its clock by ours, also after days in which its connection was closed', async () => {
    const clock = new ManualClock(Date.now());
    const moved = await startAwsServer({ clock, config: { credentials: [CREDENTIALS] } });
    const config = {
      endpoint: moved.url,
      region: 'us-east-1',
      credentials: { ...CREDENTIALS },
      maxAttempts: 3,
    };
    const client = new SQSClient(config);
    try {
      const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: 'q' }));
      clock.advance(2 * 86_400_000);
      const answer = await client.send(new GetQueueUrlCommand({ QueueName: 'q' }));
      expect(answer.QueueUrl).toBe(QueueUrl);
      expect(answer.$metadata.attempts).toBeGreaterThan(1);
      expect((await client.send(new ListQueuesCommand({}))).$metadata.attempts).toBe(1);
    } finally {
      client.destroy();
      await moved.stop();
    }
  });

  it('refuse unsigned requests in their protocol and do nothing', async () => {
    const json = await fetch(server.url, {
      method: 'POST',
      headers: { 'x-amz-target': 'AmazonSQS.CreateQueue', 'content-type': 'application/x-amz-json-1.0' },
      body: '{"QueueName":"unsigned"}',
    });
    expect(json.status).toBe(403);
    expect(json.headers.get('x-amzn-query-error')).toBe('MissingAuthenticationToken;Sender');
    expect(await json.json()).toMatchObject({
      __type: 'com.amazon.coral.service#MissingAuthenticationTokenException',
    });
    const query = await fetch(`${server.url}/?Action=CreateQueue&QueueName=unsigned`);
    expect(query.status).toBe(403);
    expect(await query.text()).toContain('<Code>MissingAuthenticationToken</Code>');
    const { QueueUrls = [] } = await server.sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'unsigned' }));
    expect(QueueUrls).toEqual([]);
  });
});

describe('GetCallerIdentity of STS', () => {
  it('says account and caller on the same port', async () => {
    const anybody = await startAwsServer();
    try {
      const response = await fetch(anybody.url, {
        method: 'POST',
        body: new URLSearchParams({ Action: 'GetCallerIdentity', Version: '2011-06-15' }),
      });
      const xml = new XMLParser({ parseTagValue: false }).parse(await response.text()) as Record<
        string,
        Record<string, unknown>
      >;
      expect(response.status).toBe(200);
      expect(xml['GetCallerIdentityResponse']?.['GetCallerIdentityResult']).toEqual({
        Arn: 'arn:aws:iam::000000000000:root',
        UserId: 'anonymous',
        Account: '000000000000',
      });
      await anybody.sqs.send(new CreateQueueCommand({ QueueName: 'open' }));
    } finally {
      await anybody.stop();
    }
  });
});
