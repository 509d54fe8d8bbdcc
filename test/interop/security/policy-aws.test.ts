import { XMLParser } from 'fast-xml-parser';
import { describe, expect, it } from 'vitest';
import { SNS_OPERATIONS } from '../../../src/connectors/aws/sns/operations.js';
import { SQS_OPERATIONS } from '../../../src/connectors/aws/sqs/operations.js';
import { STS_OPERATIONS } from '../../../src/connectors/aws/sts/operations.js';
import { Hook } from '../aws/sns-rig.js';
import { urlOf } from '../../support/server.js';
import {
  Denied,
  right,
  testCases,
  testComplete,
  useRuledServer,
  type PolicyCase,
  type Right,
} from './policy-cases.js';

type Fields = Readonly<Record<string, unknown>>;

const server = useRuledServer();
const ACCOUNT = 'kubemq:000000000000';
const queueArn = (name: string): string => `arn:aws:sqs:${ACCOUNT}:${name}`;
const topicArn = (name: string): string => `arn:aws:sns:${ACCOUNT}:${name}`;
const parser = new XMLParser({ parseTagValue: false, ignoreDeclaration: true });

const authorization = (service: string): string =>
  `AWS4-HMAC-SHA256 Credential=alice/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`;

/** One operation of the JSON protocol. */
async function sqs(operation: string, input: Fields): Promise<Fields> {
  const answer = await fetch(urlOf(server().running, 'aws'), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `AmazonSQS.${operation}`,
      authorization: authorization('sqs'),
    },
    body: JSON.stringify(input),
  });
  const text = await answer.text();
  const body = JSON.parse(text === '' ? '{}' : text) as Fields;
  if (answer.status === 200) return body;
  const refused = { status: answer.status, code: body['__type'], message: body['message'] };
  if (String(refused.code).endsWith('AccessDeniedException')) throw new Denied(refused);
  throw new Error(`${answer.status} ${text}`);
}

/** One operation of the Query protocol. */
async function sns(operation: string, input: Readonly<Record<string, string>>): Promise<Fields> {
  const answer = await fetch(urlOf(server().running, 'aws'), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: authorization('sns'),
    },
    body: new URLSearchParams({ Action: operation, Version: '2010-03-31', ...input }),
  });
  const text = await answer.text();
  const [body = {}] = Object.values(parser.parse(text) as Record<string, Fields>);
  if (answer.status === 200) return body[`${operation}Result`] as Fields;
  const error = body['Error'] as Fields;
  if (error['Code'] === 'AuthorizationError')
    throw new Denied({ status: answer.status, code: error['Code'], message: error['Message'] });
  throw new Error(`${answer.status} ${text}`);
}

const says = (action: string, arn: string): string =>
  `User: arn:aws:iam::000000000000:user/alice is not authorized to perform: ${action} on resource: ${arn} ` +
  `because no identity-based policy allows the ${action} action`;

function arnOf({ channel }: Right): string {
  return channel.startsWith('sqs.') ? queueArn(channel.slice(4)) : topicArn(channel.slice(4));
}

async function make(QueueName: string, Attributes: Fields = {}): Promise<void> {
  await sqs('CreateQueue', { QueueName, Attributes });
}

async function receive(QueueUrl: string): Promise<string> {
  await sqs('SendMessage', { QueueUrl, MessageBody: 'x' });
  const { Messages } = await sqs('ReceiveMessage', { QueueUrl });
  return String((Messages as readonly Fields[])[0]?.['ReceiptHandle']);
}

const on = (channel: string, access: Right['access']): Right => right('Queues', access, channel);

function sqsRow(operation: string, access: Right['access'], more: Fields = {}): PolicyCase {
  const QueueUrl = operation;
  return {
    operation,
    needs: [on(`sqs.${QueueUrl}`, access)],
    prepare: () => make(QueueUrl),
    run: () => sqs(operation, { QueueUrl, ...more }),
  };
}

/** The same about a message that was received. */
function receiptRow(operation: string, input: (ReceiptHandle: string) => Fields): PolicyCase {
  const QueueUrl = operation;
  let handle = '';
  return {
    operation,
    needs: [on(`sqs.${QueueUrl}`, 'Read')],
    prepare: async () => {
      await make(QueueUrl);
      handle = await receive(QueueUrl);
    },
    run: () => sqs(operation, { QueueUrl, ...input(handle) }),
  };
}

const permission = { Label: 'l', AWSAccountIds: ['111111111111'], Actions: ['SendMessage'] };
const entries = [{ Id: 'a', MessageBody: 'x' }];
const redrive = (name: string): string =>
  JSON.stringify({ deadLetterTargetArn: queueArn(name), maxReceiveCount: 2 });
/** A dead-letter queue with messages in it, whose source is another. */
async function deadLetters(name: string): Promise<void> {
  await make(name);
  await make(`${name}-source`, { RedrivePolicy: redrive(name) });
  await make(`${name}-elsewhere`);
  for (let i = 0; i < 5; i++) await sqs('SendMessage', { QueueUrl: name, MessageBody: 'x' });
}
let taskHandle = '';

const SQS: readonly PolicyCase[] = [
  sqsRow('AddPermission', 'Write', permission),
  {
    operation: 'CancelMessageMoveTask',
    needs: [on('sqs.CancelTask', 'Write')],
    prepare: async () => {
      await deadLetters('CancelTask');
      const input = { SourceArn: queueArn('CancelTask'), MaxNumberOfMessagesPerSecond: 1 };
      const running = await sqs('ListMessageMoveTasks', { SourceArn: queueArn('CancelTask') });
      const [task] = (running['Results'] ?? []) as readonly Fields[];
      taskHandle =
        task?.['Status'] === 'RUNNING'
          ? String(task['TaskHandle'])
          : String((await sqs('StartMessageMoveTask', input))['TaskHandle']);
    },
    run: () => sqs('CancelMessageMoveTask', { TaskHandle: taskHandle }),
  },
  receiptRow('ChangeMessageVisibility', (ReceiptHandle) => ({ ReceiptHandle, VisibilityTimeout: 0 })),
  receiptRow('ChangeMessageVisibilityBatch', (ReceiptHandle) => ({
    Entries: [{ Id: 'a', ReceiptHandle, VisibilityTimeout: 0 }],
  })),
  {
    operation: 'CreateQueue',
    needs: [on('sqs.CreateQueue', 'Write')],
    prepare: async () => {
      await sqs('DeleteQueue', { QueueUrl: 'CreateQueue' }).catch(() => undefined);
    },
    run: () => sqs('CreateQueue', { QueueName: 'CreateQueue' }),
  },
  {
    operation: 'CreateQueue',
    what: 'that is there',
    needs: [on('sqs.Present', 'Sight')],
    prepare: () => make('Present'),
    run: () => sqs('CreateQueue', { QueueName: 'Present' }),
  },
  {
    operation: 'CreateQueue',
    what: 'with a dead-letter queue',
    needs: [on('sqs.Redriven', 'Write'), on('sqs.Letters', 'Write')],
    prepare: async () => {
      await make('Letters');
      await sqs('DeleteQueue', { QueueUrl: 'Redriven' }).catch(() => undefined);
    },
    run: () =>
      sqs('CreateQueue', { QueueName: 'Redriven', Attributes: { RedrivePolicy: redrive('Letters') } }),
  },
  receiptRow('DeleteMessage', (ReceiptHandle) => ({ ReceiptHandle })),
  receiptRow('DeleteMessageBatch', (ReceiptHandle) => ({ Entries: [{ Id: 'a', ReceiptHandle }] })),
  sqsRow('DeleteQueue', 'Write'),
  sqsRow('GetQueueAttributes', 'Sight', { AttributeNames: ['All'] }),
  {
    operation: 'GetQueueUrl',
    needs: [on('sqs.GetQueueUrl', 'Sight')],
    prepare: () => make('GetQueueUrl'),
    run: () => sqs('GetQueueUrl', { QueueName: 'GetQueueUrl' }),
  },
  sqsRow('ListDeadLetterSourceQueues', 'Sight'),
  {
    operation: 'ListMessageMoveTasks',
    needs: [on('sqs.Moved', 'Sight')],
    prepare: () => deadLetters('Moved'),
    run: () => sqs('ListMessageMoveTasks', { SourceArn: queueArn('Moved') }),
  },
  sqsRow('ListQueueTags', 'Sight'),
  { operation: 'ListQueues', needs: [], run: () => sqs('ListQueues', {}) },
  {
    ...sqsRow('PurgeQueue', 'Read'),
    // One purge of a queue in a minute.
    prepare: async () => {
      await sqs('DeleteQueue', { QueueUrl: 'PurgeQueue' }).catch(() => undefined);
      await make('PurgeQueue');
    },
  },
  sqsRow('ReceiveMessage', 'Read'),
  {
    ...sqsRow('RemovePermission', 'Write', { Label: 'l' }),
    prepare: async () => {
      await make('RemovePermission');
      await sqs('AddPermission', { QueueUrl: 'RemovePermission', ...permission }).catch(() => undefined);
    },
  },
  sqsRow('SendMessage', 'Write', { MessageBody: 'x' }),
  sqsRow('SendMessageBatch', 'Write', { Entries: entries }),
  sqsRow('SetQueueAttributes', 'Write', { Attributes: { VisibilityTimeout: '5' } }),
  {
    operation: 'SetQueueAttributes',
    what: 'a dead-letter queue',
    needs: [on('sqs.SetRedrive', 'Write'), on('sqs.Letters', 'Write')],
    prepare: async () => {
      await make('Letters');
      await make('SetRedrive');
    },
    run: () =>
      sqs('SetQueueAttributes', {
        QueueUrl: 'SetRedrive',
        Attributes: { RedrivePolicy: redrive('Letters') },
      }),
  },
  {
    operation: 'StartMessageMoveTask',
    needs: [on('sqs.Started', 'Read'), on('sqs.Started', 'Write'), on('sqs.Started-elsewhere', 'Write')],
    prepare: async () => {
      await sqs('DeleteQueue', { QueueUrl: 'Started' }).catch(() => undefined);
      await deadLetters('Started');
    },
    run: () =>
      sqs('StartMessageMoveTask', {
        SourceArn: queueArn('Started'),
        DestinationArn: queueArn('Started-elsewhere'),
      }),
  },
  sqsRow('TagQueue', 'Write', { Tags: { a: 'b' } }),
  sqsRow('UntagQueue', 'Write', { TagKeys: ['a'] }),
];

describe('SQS', () => {
  testComplete(SQS, SQS_OPERATIONS.keys());
  testCases(server, SQS, (operation, missing) => ({
    status: 403,
    code: 'com.amazon.coral.service#AccessDeniedException',
    message: says(`sqs:${operation.toLowerCase()}`, arnOf(missing)),
  }));

  it('lists leave out what a client has no right to', async () => {
    server().allowAll();
    await deadLetters('listed');
    await make('listed-secret', { RedrivePolicy: redrive('listed') });
    server().allow([on('sqs.listed', 'Write'), on('sqs.listed-source', 'Read')]);
    const urls = (list: unknown): readonly string[] =>
      (list as readonly string[]).map((url) => url.slice(url.lastIndexOf('/') + 1)).sort();
    expect(urls((await sqs('ListQueues', {}))['QueueUrls'])).toEqual(['listed', 'listed-source']);
    const sources = await sqs('ListDeadLetterSourceQueues', { QueueUrl: 'listed' });
    expect(urls(sources['queueUrls'])).toEqual(['listed-source']);
  });
});

const TOPIC = { TopicArn: topicArn('t') };
async function makeTopic(): Promise<void> {
  await sns('CreateTopic', { Name: 't' });
}
const resource = { ResourceArn: topicArn('t') };
const snsPermission = {
  Label: 'l',
  'AWSAccountId.member.1': '111111111111',
  'ActionName.member.1': 'Publish',
};
let subscription = '';
async function subscribed(attributes: Readonly<Record<string, string>> = {}): Promise<void> {
  await makeTopic();
  await make('subscriber');
  const input = { ...TOPIC, Protocol: 'sqs', Endpoint: queueArn('subscriber') };
  subscription = String((await sns('Subscribe', input))['SubscriptionArn']);
  for (const [AttributeName, AttributeValue] of Object.entries(attributes))
    await sns('SetSubscriptionAttributes', { SubscriptionArn: subscription, AttributeName, AttributeValue });
}

function topicRow(
  operation: string,
  access: Right['access'],
  input: Readonly<Record<string, string>>,
  prepare: () => Promise<void> = makeTopic,
): PolicyCase {
  return { operation, needs: [on('sns.t', access)], prepare, run: () => sns(operation, input) };
}

const SNS: readonly PolicyCase[] = [
  topicRow('AddPermission', 'Write', { ...TOPIC, ...snsPermission }, async () => {
    await makeTopic();
    await sns('RemovePermission', { ...TOPIC, Label: 'l' }).catch(() => undefined);
  }),
  topicRow('CreateTopic', 'Write', { Name: 't' }),
  topicRow('DeleteTopic', 'Write', TOPIC),
  topicRow('GetDataProtectionPolicy', 'Sight', resource),
  {
    operation: 'GetSubscriptionAttributes',
    needs: [on('sns.t', 'Sight')],
    prepare: subscribed,
    run: () => sns('GetSubscriptionAttributes', { SubscriptionArn: subscription }),
  },
  topicRow('GetTopicAttributes', 'Sight', TOPIC),
  { operation: 'ListSubscriptions', needs: [], run: () => sns('ListSubscriptions', {}) },
  topicRow('ListSubscriptionsByTopic', 'Sight', TOPIC, subscribed),
  topicRow('ListTagsForResource', 'Sight', resource),
  { operation: 'ListTopics', needs: [], run: () => sns('ListTopics', {}) },
  topicRow('Publish', 'Write', { ...TOPIC, Message: 'x' }),
  topicRow('PublishBatch', 'Write', {
    ...TOPIC,
    'PublishBatchRequestEntries.member.1.Id': 'a',
    'PublishBatchRequestEntries.member.1.Message': 'x',
  }),
  topicRow('PutDataProtectionPolicy', 'Write', {
    ...resource,
    DataProtectionPolicy: '',
  }),
  topicRow('RemovePermission', 'Write', { ...TOPIC, Label: 'l' }, async () => {
    await makeTopic();
    await sns('AddPermission', { ...TOPIC, ...snsPermission }).catch(() => undefined);
  }),
  {
    operation: 'SetSubscriptionAttributes',
    needs: [on('sns.t', 'Read')],
    prepare: subscribed,
    run: () =>
      sns('SetSubscriptionAttributes', {
        SubscriptionArn: subscription,
        AttributeName: 'RawMessageDelivery',
        AttributeValue: 'true',
      }),
  },
  {
    operation: 'SetSubscriptionAttributes',
    what: 'a dead-letter queue',
    needs: [on('sns.t', 'Read'), on('sqs.Letters', 'Write')],
    prepare: async () => {
      await make('Letters');
      await subscribed();
    },
    run: () =>
      sns('SetSubscriptionAttributes', {
        SubscriptionArn: subscription,
        AttributeName: 'RedrivePolicy',
        AttributeValue: JSON.stringify({ deadLetterTargetArn: queueArn('Letters') }),
      }),
  },
  topicRow('SetTopicAttributes', 'Write', { ...TOPIC, AttributeName: 'DisplayName', AttributeValue: 'x' }),
  {
    operation: 'Subscribe',
    needs: [on('sns.t', 'Read'), on('sqs.subscriber', 'Write')],
    prepare: async () => {
      await makeTopic();
      await make('subscriber');
    },
    run: () => sns('Subscribe', { ...TOPIC, Protocol: 'sqs', Endpoint: queueArn('subscriber') }),
  },
  {
    operation: 'Subscribe',
    what: 'with a dead-letter queue',
    needs: [on('sns.t', 'Read'), on('sqs.subscriber', 'Write'), on('sqs.Letters', 'Write')],
    prepare: async () => {
      await makeTopic();
      await make('subscriber');
      await make('Letters');
    },
    run: () =>
      sns('Subscribe', {
        ...TOPIC,
        Protocol: 'sqs',
        Endpoint: queueArn('subscriber'),
        'Attributes.entry.1.key': 'RedrivePolicy',
        'Attributes.entry.1.value': JSON.stringify({ deadLetterTargetArn: queueArn('Letters') }),
      }),
  },
  topicRow('TagResource', 'Write', { ...resource, 'Tags.member.1.Key': 'a', 'Tags.member.1.Value': 'b' }),
  {
    // Deliveries carry a link that does the same, for whoever has it.
    operation: 'Unsubscribe',
    needs: [],
    prepare: subscribed,
    run: () => sns('Unsubscribe', { SubscriptionArn: subscription }),
  },
  topicRow('UntagResource', 'Write', { ...resource, 'TagKeys.member.1': 'a' }),
];

/** Text messages and mobile push: asked of the account and not of a topic; whoever asks gets the same answer, that there is nothing. */
const OF_THE_ACCOUNT = [...SNS_OPERATIONS.keys()].filter((name) =>
  /Platform|Endpoint|SMS|PhoneNumber|Origination/.test(name),
);

describe('SNS', () => {
  testComplete(
    SNS,
    [...SNS_OPERATIONS.keys()].filter(
      (name) => !OF_THE_ACCOUNT.includes(name) && name !== 'ConfirmSubscription',
    ),
  );
  testCases(server, SNS, (operation, missing) => ({
    status: 403,
    code: 'AuthorizationError',
    message: says(`SNS:${operation}`, arnOf(missing)),
  }));

  it('lists leave out topics that a client has no right to', async () => {
    server().allowAll();
    await subscribed();
    await sns('CreateTopic', { Name: 'secret' });
    await sns('Subscribe', {
      TopicArn: topicArn('secret'),
      Protocol: 'sqs',
      Endpoint: queueArn('subscriber'),
    });
    server().allow([on('sns.t', 'Read')]);
    const { Topics } = await sns('ListTopics', {});
    expect(Topics).toEqual({ member: TOPIC });
    const { Subscriptions } = await sns('ListSubscriptions', {});
    expect(Subscriptions).toMatchObject({ member: TOPIC });
  });

  it('a subscription that ends with a signature only is ended by who may read its topic', async () => {
    server().allowAll();
    await sns('CreateTopic', { Name: 'hooked' });
    const hook = await Hook.start();
    const TopicArn = topicArn('hooked');
    const asked = { TopicArn, Protocol: 'http', Endpoint: hook.url, ReturnSubscriptionArn: 'true' };
    const { SubscriptionArn } = await sns('Subscribe', asked);
    const { Token } = JSON.parse((await hook.post(1)).body) as { readonly Token: string };
    // The token was sent to the endpoint alone, and whoever has it may confirm.
    server().allow([]);
    await sns('ConfirmSubscription', { TopicArn, Token, AuthenticateOnUnsubscribe: 'true' });
    const input = { SubscriptionArn: String(SubscriptionArn) };
    await expect(sns('Unsubscribe', input)).rejects.toMatchObject({
      answer: { status: 403, message: says('SNS:Unsubscribe', TopicArn) },
    });
    server().allow([on('sns.hooked', 'Read')]);
    await sns('Unsubscribe', input);
    await hook.stop();
  });

  it('STS tells everybody who they are', async () => {
    expect([...STS_OPERATIONS.keys()]).toEqual(['GetCallerIdentity']);
  });
});
