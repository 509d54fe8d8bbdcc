import { XMLParser } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAwsServer, type AwsServer } from './aws-server.js';

let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer();
});
afterAll(() => server.stop());

const parser = new XMLParser({ parseTagValue: false });

interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly xml: Record<string, Record<string, unknown>>;
  readonly text: string;
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    xml: parser.parse(text) as Answer['xml'],
    text,
  };
}

async function post(path: string, parameters: Record<string, string>): Promise<Answer> {
  return read(await fetch(server.url + path, { method: 'POST', body: new URLSearchParams(parameters) }));
}

async function get(path: string): Promise<Answer> {
  return read(await fetch(server.url + path));
}

async function createQueue(name: string): Promise<string> {
  const { xml } = await post('/', { Action: 'CreateQueue', QueueName: name, Version: '2012-11-05' });
  return xml['CreateQueueResponse']?.['CreateQueueResult'] === undefined
    ? ''
    : (xml['CreateQueueResponse']['CreateQueueResult'] as { QueueUrl: string }).QueueUrl;
}

describe('SQS over the Query protocol', () => {
  it('creates, sends, receives and deletes, at the endpoint and at the queue', async () => {
    const url = await createQueue('q');
    expect(url).toBe(`${server.url}/000000000000/q`);
    const sent = await post('/000000000000/q', {
      Action: 'SendMessage',
      MessageBody: 'a<b>\r\n"&',
      'MessageAttribute.1.Name': 'k',
      'MessageAttribute.1.Value.DataType': 'String',
      'MessageAttribute.1.Value.StringValue': 'x',
    });
    expect(sent.type).toBe('text/xml');
    expect(sent.xml['SendMessageResponse']?.['SendMessageResult']).toMatchObject({
      MD5OfMessageAttributes: 'a45daa70926828a2f0a1db3418e6feb4',
    });
    const received = await get(
      '/000000000000/q?Action=ReceiveMessage&MessageAttributeName=All&AttributeName.1=All',
    );
    expect(received.text).toContain('<Body>a&lt;b&gt;&#xD;\n&quot;&amp;</Body>');
    const message = (
      received.xml['ReceiveMessageResponse']?.['ReceiveMessageResult'] as Record<string, unknown>
    )['Message'] as Record<string, unknown>;
    expect(message['MessageAttribute']).toEqual({
      Name: 'k',
      Value: { DataType: 'String', StringValue: 'x' },
    });
    expect(message['Attribute']).toContainEqual({ Name: 'SenderId', Value: 'anonymous' });
    const gone = await post('/', {
      Action: 'DeleteMessageBatch',
      QueueUrl: url,
      'DeleteMessageBatchRequestEntry.1.Id': 'a',
      'DeleteMessageBatchRequestEntry.1.ReceiptHandle': String(message['ReceiptHandle']),
      'DeleteMessageBatchRequestEntry.2.Id': 'b',
      'DeleteMessageBatchRequestEntry.2.ReceiptHandle': 'garbage',
    });
    expect(gone.xml['DeleteMessageBatchResponse']?.['DeleteMessageBatchResult']).toMatchObject({
      DeleteMessageBatchResultEntry: { Id: 'a' },
      BatchResultErrorEntry: { Id: 'b', SenderFault: 'true', Code: 'ReceiptHandleIsInvalid' },
    });
  });

  it('says errors with the codes and the text of that protocol', async () => {
    const missing = await post('/', { Action: 'GetQueueUrl', QueueName: 'nope' });
    expect(missing.status).toBe(400);
    expect(missing.xml['ErrorResponse']?.['Error']).toEqual({
      Type: 'Sender',
      Code: 'AWS.SimpleQueueService.NonExistentQueue',
      Message: 'The specified queue does not exist for this wsdl version.',
      Detail: '',
    });
    const nameless = await post('/', { Action: 'ReceiveMessage', Version: '2012-11-05' });
    expect(nameless.xml['ErrorResponse']?.['Error']).toMatchObject({
      Code: 'MissingParameter',
      Message: 'The request must contain the parameter QueueUrl.',
    });
  });

  it('knows what is no action', async () => {
    await createQueue('plain');
    const none = await get('/000000000000/plain');
    expect([none.status, none.text]).toEqual([404, '<UnknownOperationException/>']);
    for (const action of ['CreateQueue&QueueName=x', 'FooBar']) {
      const refused = await get(`/000000000000/plain?Action=${action}`);
      expect(refused.status).toBe(400);
      expect(refused.xml['ErrorResponse']?.['Error']).toMatchObject({ Code: 'InvalidAction' });
    }
  });

  it('has no result element when there is nothing to give', async () => {
    const url = await createQueue('void');
    const purged = await post('/', { Action: 'PurgeQueue', QueueUrl: url });
    expect(Object.keys(purged.xml['PurgeQueueResponse'] ?? {})).toEqual(['ResponseMetadata']);
    const again = await post('/', { Action: 'PurgeQueue', QueueUrl: url });
    expect(again.status).toBe(403);
  });
});

describe('hostile requests', () => {
  const json = (target: string, body: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
    fetch(server.url, { method: 'POST', body, headers: { 'X-Amz-Target': target } });

  it.each<[string, string, string | Uint8Array<ArrayBuffer>, string]>([
    ['an unknown service', 'Kinesis.PutRecord', '{}', 'UnknownOperationException'],
    ['an unknown operation', 'AmazonSQS.Nope', '{}', 'UnknownOperationException'],
    ['an operation that objects have', 'AmazonSQS.constructor', '{}', 'UnknownOperationException'],
    ['no JSON', 'AmazonSQS.ListQueues', '{"a":', 'SerializationException'],
    ['no structure', 'AmazonSQS.ListQueues', '[1]', 'SerializationException'],
    ['broken UTF-8', 'AmazonSQS.ListQueues', new Uint8Array([0x7b, 0xff, 0x7d]), 'SerializationException'],
    ['a wrong type', 'AmazonSQS.GetQueueUrl', '{"QueueName":7}', 'SerializationException'],
    [
      'a wrong list',
      'AmazonSQS.ReceiveMessage',
      '{"QueueUrl":"h","AttributeNames":"All"}',
      'SerializationException',
    ],
    ['a wrong map', 'AmazonSQS.CreateQueue', '{"QueueName":"m","Attributes":[]}', 'SerializationException'],
    [
      'a poisoned map',
      'AmazonSQS.CreateQueue',
      '{"QueueName":"m","Attributes":{"__proto__":"1"}}',
      'InvalidAttributeName',
    ],
  ])('%s', async (_name, target, body, type) => {
    await createQueue('h');
    const response = await json(target, body);
    expect(response.status).toBe(type === 'UnknownOperationException' ? 404 : 400);
    expect(response.headers.get('x-amzn-query-error')).toMatch(/;Sender$/);
    expect(((await response.json()) as { __type: string }).__type).toContain(`#${type}`);
  });

  it('a body over the limit, in either protocol', async () => {
    const body = new Uint8Array(8 * 1024 * 1024 + 1);
    const large = await json('AmazonSQS.SendMessage', body);
    expect(large.status).toBe(413);
    expect(await large.json()).toMatchObject({ message: 'A request is at most 8388608 bytes.' });
    const query = await fetch(server.url, { method: 'POST', body });
    expect(query.status).toBe(413);
    expect(await query.text()).toContain('<ErrorResponse');
  });

  it('malformed forms and floods of parameters', async () => {
    const form = (body: string): Promise<Response> =>
      fetch(server.url, {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      });
    expect((await form('Action=%ff')).status).toBe(400);
    expect((await form('a&'.repeat(100_000))).status).toBe(400);
    expect((await form(`Action=ListQueues&${'x.'.repeat(50_000)}=1`)).status).toBe(200);
  });
});
