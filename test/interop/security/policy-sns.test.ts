import { describe, expect, it } from 'vitest';
import { SNS_OPERATIONS } from '../../../src/connectors/aws/sns/operations.js';
import { Hook } from '../aws/sns-rig.js';
import { arnOf, callSns, callSqs, on, queueArn, says, topicArn, type Fields } from './aws-calls.js';
import { testCases, testComplete, useRuledServer, type PolicyCase, type Right } from './policy-cases.js';

const server = useRuledServer();
const sns = (operation: string, input: Readonly<Record<string, string>>): Promise<Fields> =>
  callSns(server().running, operation, input);

async function make(QueueName: string): Promise<void> {
  await callSqs(server().running, 'CreateQueue', { QueueName, Attributes: {} });
}

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
});
