import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAwsServer, type AwsServer } from './aws-server.js';
import { ACCOUNT, ARN, bodiesOf, codeOf, FIFO, listIn, RawSqs, type Bug, type Fields } from './raw-client.js';

/*
 * Mistakes that servers of this API made and their users reported: each is tried here over bare HTTP, for what AWS
 * does. The reports are named by project and number.
 */

let server: AwsServer;
let sqs: RawSqs;

beforeAll(async () => {
  server = await startAwsServer();
  sqs = new RawSqs(server.url);
});
afterAll(() => server.stop());

const PROTOCOL: readonly Bug[] = [
  {
    reports: 'softwaremill/elasticmq#903, ministackorg/ministack#36',
    behaviour: 'an unknown queue is named by shape and by query code',
    run: async () => {
      for (const [operation, input] of [
        ['DeleteQueue', { QueueUrl: 'nope' }],
        ['GetQueueUrl', { QueueName: 'nope' }],
      ] as const) {
        const answer = await sqs.json(operation, input);
        expect(answer.status).toBe(400);
        expect(answer.body['__type']).toBe('com.amazonaws.sqs#QueueDoesNotExist');
        expect(codeOf(answer)).toBe('AWS.SimpleQueueService.NonExistentQueue;Sender');
      }
    },
  },
  {
    reports: 'floci-io/floci#773',
    behaviour: 'an empty receive is an empty structure',
    run: async () => {
      expect((await sqs.json('ReceiveMessage', { QueueUrl: await sqs.make() })).text).toBe('{}');
    },
  },
  {
    reports: 'softwaremill/elasticmq#97',
    behaviour: 'attributes that were not asked for are not returned',
    run: async () => {
      const queue = await sqs.make();
      await sqs.send(queue, 'x', { MessageAttributes: { k: { DataType: 'String', StringValue: 'x' } } });
      const [message = {}] = await sqs.receive(queue);
      expect(Object.keys(message).sort()).toEqual(['Body', 'MD5OfBody', 'MessageId', 'ReceiptHandle']);
    },
  },
  {
    reports: 'softwaremill/elasticmq#448, faiscadev/fakecloud#2335',
    behaviour: 'a list of one name needs no number',
    run: async () => {
      const queue = await sqs.make();
      for (const name of ['MessageAttributeName', 'MessageAttributeName.1']) {
        await sqs.send(queue, 'x', { MessageAttributes: { k: { DataType: 'String', StringValue: 'x' } } });
        const { text } = await sqs.query({ Action: 'ReceiveMessage', QueueUrl: queue, [name]: 'All' });
        expect(text).toContain('<MessageAttribute><Name>k</Name><Value>');
        expect(text).toContain('<MD5OfMessageAttributes>a45daa70926828a2f0a1db3418e6feb4<');
      }
    },
  },
  {
    reports: 'softwaremill/elasticmq#207',
    behaviour: 'a missing QueueUrl is a missing parameter',
    run: async () => {
      const answer = await sqs.query({ Action: 'ReceiveMessage', Version: '2012-11-05' });
      expect([answer.status, codeOf(answer)]).toEqual([400, 'MissingParameter']);
      expect(answer.text).toContain('The request must contain the parameter QueueUrl.');
    },
  },
  {
    reports: 'aws/aws-sdk-net#3282',
    behaviour: 'All attributes are all attributes',
    run: async () => {
      const answer = await sqs.json('GetQueueAttributes', {
        QueueUrl: await sqs.make(),
        AttributeNames: ['All'],
      });
      expect(Object.keys(answer.body['Attributes'] as object).sort()).toEqual([
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesDelayed',
        'ApproximateNumberOfMessagesNotVisible',
        'CreatedTimestamp',
        'DelaySeconds',
        'LastModifiedTimestamp',
        'MaximumMessageSize',
        'MessageRetentionPeriod',
        'QueueArn',
        'ReceiveMessageWaitTimeSeconds',
        'SqsManagedSseEnabled',
        'VisibilityTimeout',
      ]);
    },
  },
  {
    reports: 'LocalStack validated GET tests',
    behaviour: 'GET at a queue knows what is no action there',
    run: async () => {
      const path = `/${ACCOUNT}/${await sqs.make()}`;
      const none = await sqs.get(path);
      expect(none.status).toBe(404);
      expect(none.text).toContain('<UnknownOperationException/>');
      for (const query of ['?Action=CreateQueue&QueueName=x', '?Action=ListQueues', '?Action=FooBar']) {
        const answer = await sqs.get(path + query);
        expect([answer.status, codeOf(answer)]).toEqual([400, 'InvalidAction']);
      }
    },
  },
  {
    reports: 'celery/kombu#2260',
    behaviour: "a form posted to the queue's own path needs no QueueUrl",
    run: async () => {
      const queue = await sqs.make();
      const path = `/${ACCOUNT}/${queue}`;
      expect((await sqs.query({ Action: 'SendMessage', MessageBody: 'x' }, path)).status).toBe(200);
      expect(bodiesOf(await sqs.receive(queue))).toEqual(['x']);
    },
  },
];

const TEXT: readonly Bug[] = [
  {
    reports: 'localstack/localstack#3022, #6794, #2973, getmoto/moto#918',
    behaviour: 'MD5s of custom types and of binary values that look like base64',
    run: async () => {
      const queue = await sqs.make();
      const custom = {
        a: { DataType: 'Number.int', StringValue: '1' },
        z: { DataType: 'String.custom', StringValue: 'v' },
      };
      const sent = await sqs.send(queue, 'x', { MessageAttributes: custom });
      expect(sent.body['MD5OfMessageAttributes']).toBe('e9a88ee75b69f68d584976b3765f7939');
      const binary = { b: { DataType: 'Binary', BinaryValue: Buffer.from([0, 1]).toString('base64') } };
      const second = await sqs.send(queue, 'y', { MessageAttributes: binary });
      expect(second.body['MD5OfMessageAttributes']).toBe('973749046908c117819a7d5e12dac587');
      const value = Buffer.from('AAE=').toString('base64');
      await sqs.send(queue, 'z', { MessageAttributes: { b: { DataType: 'Binary', BinaryValue: value } } });
      const messages = await sqs.receive(queue, { MessageAttributeNames: ['All'] });
      expect(messages[2]?.['MessageAttributes']).toEqual({ b: { DataType: 'Binary', BinaryValue: value } });
    },
  },
  {
    reports: 'floci-io/floci#768',
    behaviour: 'a duplicate is answered with its own MD5s and the first MessageId',
    run: async () => {
      const queue = await sqs.make(FIFO);
      const of = (value: string) => ({
        MessageGroupId: 'g',
        MessageDeduplicationId: 'd',
        MessageAttributes: { k: { DataType: 'String', StringValue: value } },
      });
      const first = await sqs.send(queue, 'hi', of('v'));
      const second = await sqs.send(queue, 'hi', of('x'));
      expect(second.body['MessageId']).toBe(first.body['MessageId']);
      expect(second.body['SequenceNumber']).toBe(first.body['SequenceNumber']);
      expect(second.body['MD5OfMessageAttributes']).toBe('a45daa70926828a2f0a1db3418e6feb4');
    },
  },
  {
    reports: 'aws/aws-sdk-net#457',
    behaviour: 'a single space is a body',
    run: async () => {
      const queue = await sqs.make();
      expect((await sqs.send(queue, ' ')).body['MD5OfMessageBody']).toBe('7215ee9c7d9dc229d2921a40e899ec5f');
      expect(bodiesOf(await sqs.receive(queue))).toEqual([' ']);
      await sqs.send(queue, ' \r\n ');
      const answer = await sqs.query({ Action: 'ReceiveMessage', QueueUrl: queue });
      expect(answer.text).toMatch(/<Body> &#xD;(&#xA;|\n) <\/Body>/);
    },
  },
  {
    reports: 'ministackorg/ministack#987',
    behaviour: 'control characters are refused, in a batch only their entry',
    run: async () => {
      const queue = await sqs.make();
      for (const body of ['a\u0000', '\u000b', '\u001f', '\ufffe', '\uffff', '\ud800']) {
        const answer = await sqs.send(queue, body);
        expect([answer.status, codeOf(answer)]).toEqual([400, 'InvalidMessageContents;Sender']);
      }
      const Entries = [
        { Id: 'bad', MessageBody: '\u0001' },
        { Id: 'good', MessageBody: '\t' },
      ];
      const batch = await sqs.json('SendMessageBatch', { QueueUrl: queue, Entries });
      expect(listIn(batch, 'Successful')).toMatchObject([{ Id: 'good' }]);
      expect(listIn(batch, 'Failed')).toMatchObject([
        { Id: 'bad', Code: 'InvalidMessageContents', SenderFault: true },
      ]);
    },
  },
];

const QUEUES: readonly Bug[] = [
  {
    reports: 'getmoto/moto#1764, #1663, localstack/localstack#5938, #3035',
    behaviour: 'the same queue may be made again, a different one not',
    run: async () => {
      const dead = await sqs.make();
      const policy = (first: 'arn' | 'count') => {
        const arn = `"deadLetterTargetArn":"${ARN}${dead}"`;
        return first === 'arn' ? `{${arn},"maxReceiveCount":100}` : `{"maxReceiveCount":"100", ${arn}}`;
      };
      const QueueName = sqs.newName();
      const Attributes = { DelaySeconds: '900', VisibilityTimeout: '43200', RedrivePolicy: policy('arn') };
      const make3 = (given: Fields) => sqs.json('CreateQueue', { QueueName, Attributes: given });
      const { body } = await make3(Attributes);
      for (const same of [Attributes, {}, { RedrivePolicy: policy('count') }, { DelaySeconds: '900' }]) {
        expect((await make3(same)).body).toEqual(body);
      }
      const answer = await make3({ ...Attributes, DelaySeconds: '899' });
      expect(codeOf(answer)).toBe('QueueAlreadyExists;Sender');
      expect(answer.text).toContain('DelaySeconds');
    },
  },
  {
    reports: 'localstack/localstack#708, #6285, #2612, ministackorg/ministack#1201, testcontainers-java#7904',
    behaviour: 'URLs carry the host the client used; any host, account and region find the queue',
    run: async () => {
      const name = sqs.newName();
      const body = JSON.stringify({ QueueName: name });
      const raw = connect(server.port, '127.0.0.1');
      raw.end(
        'POST / HTTP/1.1\r\nHost: broker:14566\r\nConnection: close\r\nX-Amz-Target: AmazonSQS.CreateQueue\r\n' +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      let text = '';
      for await (const chunk of raw) text += String(chunk);
      expect(text).toContain(`{"QueueUrl":"http://broker:14566/${ACCOUNT}/${name}"}`);
      for (const QueueUrl of [
        `https://old.example/123456789012/${name}`,
        `http://x:1/${ACCOUNT}/${name}/`,
        name,
      ]) {
        expect((await sqs.send(QueueUrl, 'x')).status).toBe(200);
      }
      const elsewhere = {
        authorization: 'AWS4-HMAC-SHA256 Credential=A/20260101/ap-south-9/sqs/aws4_request',
      };
      expect((await sqs.json('GetQueueUrl', { QueueName: name }, elsewhere)).status).toBe(200);
    },
  },
  {
    reports: 'localstack/localstack#551',
    behaviour: 'a queue without tags lists none',
    run: async () => {
      const queue = await sqs.make();
      expect((await sqs.json('ListQueueTags', { QueueUrl: queue })).text).toBe('{}');
      const { text } = await sqs.query({ Action: 'ListQueueTags', QueueUrl: queue });
      expect(text).toMatch(/<ListQueueTagsResult(\/>|><\/ListQueueTagsResult>)/);
    },
  },
  {
    reports: 'Particular/NServiceBus.AmazonSQS#527, #830',
    behaviour: 'a policy over 8192 bytes is refused with the text of AWS',
    run: async () => {
      const QueueUrl = await sqs.make();
      const Policy = JSON.stringify({ Statement: 'x'.repeat(8_200) });
      const answer = await sqs.json('SetQueueAttributes', { QueueUrl, Attributes: { Policy } });
      expect([answer.status, codeOf(answer)]).toEqual([400, 'InvalidAttributeValue;Sender']);
      expect(answer.text).toContain('Submitted policy is over max allowed size.');
    },
  },
];

it.each([...PROTOCOL, ...TEXT, ...QUEUES])('$behaviour ($reports)', ({ run }) => run());
