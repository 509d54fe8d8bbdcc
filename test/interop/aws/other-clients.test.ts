import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CREDENTIALS, startAwsServer, type AwsServer } from './aws-server.js';
import { awsCli, boto, cli, moto, scenario, scenarioWithMoto, type Transcript } from './foreign-clients.js';

const SCRIPT = 'scenario.py';
let server: AwsServer;

beforeAll(async () => {
  // Their own signers sign, and every signature is checked.
  server = await startAwsServer({ config: { credentials: [CREDENTIALS] } });
});
afterAll(() => server.stop());

/** Where moto differs from us, and why we stay with AWS. */
const MOTO_DIFFERS: Readonly<Record<string, string>> = {
  'send empty': 'takes an empty body',
  'send control': 'takes characters SQS refuses',
  'receive none': 'gives an empty list where AWS gives none',
  'receive ten': 'still has the control character sent before',
  'same message': 'answers a duplicate with a new id',
  'fifo attributes': 'gives no SequenceNumber',
  'publish empty': 'takes an empty message',
};

describe.skipIf(boto === undefined)('boto3', () => {
  let ours: Transcript;

  beforeAll(async () => {
    ours = await scenario(SCRIPT, server.url);
  });

  it('gets what AWS would say', () => {
    expect(ours).toMatchObject({
      create: { QueueUrl: 'URL/ACCOUNT/q1' },
      'create different': ['QueueAlreadyExists', 400],
      'url of nothing': ['AWS.SimpleQueueService.NonExistentQueue', 400],
      'list nothing': false,
      'bad attribute': ['InvalidAttributeName', 400],
      tags: { Tags: { a: '1' } },
      'send empty': ['MissingParameter', 400],
      'send control': ['InvalidMessageContents', 400],
      'receive none': false,
      'delete garbage': ['ReceiptHandleIsInvalid', 400],
      'send none': ['AWS.SimpleQueueService.EmptyBatchRequest', 400],
      'send eleven': ['AWS.SimpleQueueService.TooManyEntriesInBatchRequest', 400],
      'send twins': ['AWS.SimpleQueueService.BatchEntryIdsNotDistinct', 400],
      'same message': true,
      'same number': true,
      'one id': true,
      'publish batch': [['a', 'b'], []],
      'delete queue again': ['AWS.SimpleQueueService.NonExistentQueue', 400],
    });
  });

  it.skipIf(moto === undefined)('sees no other difference from moto than the known ones', async () => {
    const theirs = await scenarioWithMoto(SCRIPT);
    const differing = Object.keys(ours).filter(
      (step) => JSON.stringify(ours[step]) !== JSON.stringify(theirs[step]),
    );
    expect(differing).toEqual(Object.keys(MOTO_DIFFERS));
  });
});

describe.skipIf(cli === undefined)('AWS CLI', () => {
  const aws = (...args: readonly string[]): Promise<Record<string, unknown>> => awsCli(server.url, ...args);

  it('runs a queue and a topic through their life', async () => {
    const { QueueUrl } = await aws('sqs', 'create-queue', '--queue-name', 'cli');
    const url = String(QueueUrl);
    const { TopicArn } = await aws('sns', 'create-topic', '--name', 'cli');
    const topic = String(TopicArn);
    const endpoint = 'arn:aws:sqs:kubemq:000000000000:cli';
    await aws(
      'sns',
      'subscribe',
      '--topic-arn',
      topic,
      '--protocol',
      'sqs',
      '--notification-endpoint',
      endpoint,
    );
    await aws('sns', 'publish', '--topic-arn', topic, '--message', 'from the topic');
    await aws('sqs', 'send-message', '--queue-url', url, '--message-body', 'from the queue');
    const { Messages } = await aws(
      'sqs',
      'receive-message',
      '--queue-url',
      url,
      '--max-number-of-messages',
      '10',
    );
    const messages = Messages as { Body: string; ReceiptHandle: string }[];
    expect(messages).toHaveLength(2);
    expect(messages[0]?.Body).toContain('"Message" : "from the topic"');
    for (const { ReceiptHandle } of messages) {
      await aws('sqs', 'delete-message', '--queue-url', url, '--receipt-handle', ReceiptHandle);
    }
    await expect(aws('sqs', 'get-queue-url', '--queue-name', 'nope')).rejects.toThrow(
      'AWS.SimpleQueueService.NonExistentQueue',
    );
    await aws('sqs', 'delete-queue', '--queue-url', url);
  });
});
