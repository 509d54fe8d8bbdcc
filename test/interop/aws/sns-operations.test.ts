import {
  AddPermissionCommand,
  CheckIfPhoneNumberIsOptedOutCommand,
  CreatePlatformApplicationCommand,
  CreatePlatformEndpointCommand,
  CreateSMSSandboxPhoneNumberCommand,
  CreateTopicCommand,
  DeleteTopicCommand,
  DeleteEndpointCommand,
  DeletePlatformApplicationCommand,
  DeleteSMSSandboxPhoneNumberCommand,
  GetDataProtectionPolicyCommand,
  GetEndpointAttributesCommand,
  GetPlatformApplicationAttributesCommand,
  GetSMSAttributesCommand,
  GetSMSSandboxAccountStatusCommand,
  GetTopicAttributesCommand,
  ListEndpointsByPlatformApplicationCommand,
  ListOriginationNumbersCommand,
  ListPhoneNumbersOptedOutCommand,
  ListPlatformApplicationsCommand,
  ListSMSSandboxPhoneNumbersCommand,
  ListSubscriptionsByTopicCommand,
  ListSubscriptionsCommand,
  ListTagsForResourceCommand,
  OptInPhoneNumberCommand,
  PublishBatchCommand,
  PublishCommand,
  PutDataProtectionPolicyCommand,
  RemovePermissionCommand,
  SetEndpointAttributesCommand,
  SetPlatformApplicationAttributesCommand,
  SetSMSAttributesCommand,
  SubscribeCommand,
  TagResourceCommand,
  UntagResourceCommand,
  VerifySMSSandboxPhoneNumberCommand,
} from '@aws-sdk/client-sns';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SNS_OPERATIONS } from '../../../src/connectors/aws/sns/operations.js';
import { Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';
import { ACCOUNT, queueArn, Topics } from './sns-rig.js';

let server: AwsServer;
let topics: Topics;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer();
  topics = new Topics(server);
  queues = new Queues(server);
});
afterAll(() => server.stop());

const invalid = (text: string) => ({
  code: 'InvalidParameterException',
  status: 400,
  message: `Invalid parameter: ${text}`,
});

async function attributesOf(TopicArn: string): Promise<Record<string, string>> {
  const answer = await server.sns.send(new GetTopicAttributesCommand({ TopicArn }));
  return answer.Attributes ?? {};
}

describe('topics', () => {
  it('read back what Terraform reads, set and unset', async () => {
    const topic = await topics.create({ DisplayName: 'D', SignatureVersion: '2' });
    const fresh = await attributesOf(topic);
    expect(fresh).toMatchObject({
      TopicArn: topic,
      Owner: '000000000000',
      DisplayName: 'D',
      SignatureVersion: '2',
      SubscriptionsConfirmed: '0',
      SubscriptionsPending: '0',
      SubscriptionsDeleted: '0',
    });
    expect(fresh['DeliveryPolicy']).toBeUndefined();
    expect(fresh['FifoTopic']).toBeUndefined();
    expect(JSON.parse(fresh['Policy'] ?? '')).toMatchObject({
      Id: '__default_policy_ID',
      Statement: [{ Sid: '__default_statement_ID', Resource: topic }],
    });
    expect(JSON.parse(fresh['EffectiveDeliveryPolicy'] ?? '')).toEqual({
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
        defaultRequestPolicy: { headerContentType: 'text/plain; charset=UTF-8' },
      },
    });
    const set = {
      DisplayName: 'E',
      Policy: '{"Version":"2012-10-17","Statement":[]}',
      DeliveryPolicy:
        '{"http":{"defaultHealthyRetryPolicy":{"numRetries":5},"disableSubscriptionOverrides":false}}',
      KmsMasterKeyId: 'alias/aws/sns',
      TracingConfig: 'Active',
      SQSFailureFeedbackRoleArn: 'arn:aws:iam::000000000000:role/r',
      SQSSuccessFeedbackSampleRate: '50',
    };
    for (const [name, value] of Object.entries(set)) await topics.set(topic, name, value);
    expect(await attributesOf(topic)).toMatchObject(set);
    await topics.set(topic, 'KmsMasterKeyId', '');
    expect((await attributesOf(topic))['KmsMasterKeyId']).toBeUndefined();
  });

  it.each<[string, string, string]>([
    ['Nope', 'x', 'AttributeName'],
    ['FifoTopic', 'true', 'AttributeName'],
    [
      'ContentBasedDeduplication',
      'true',
      'ContentBasedDeduplication: this attribute can only be set on FIFO topics',
    ],
    ['SignatureVersion', '3', 'SignatureVersion: Invalid value [3]. Must be one of 1, 2.'],
    ['Policy', '{', 'Policy: failed to parse JSON.'],
    ['DeliveryPolicy', '{"http":{"x":1}}', 'DeliveryPolicy: Unexpected JSON member: x'],
    [
      'ArchivePolicy',
      '{"MessageRetentionPeriod":"1"}',
      'ArchivePolicy: this attribute can only be set on FIFO topics',
    ],
  ])('refuse %s = %s', async (name, value, text) => {
    const topic = await topics.create({}, 'refusing');
    expect(await refusal(topics.set(topic, name, value))).toMatchObject(invalid(text));
  });

  it('carry tags', async () => {
    const Tags = [{ Key: 'a', Value: '1' }];
    const { TopicArn: ResourceArn } = await server.sns.send(new CreateTopicCommand({ Name: 'tagged', Tags }));
    const list = async () =>
      (await server.sns.send(new ListTagsForResourceCommand({ ResourceArn }))).Tags ?? [];
    const tag = (tags: typeof Tags) => server.sns.send(new TagResourceCommand({ ResourceArn, Tags: tags }));
    expect(await list()).toEqual(Tags);
    await tag([
      { Key: 'a', Value: '2' },
      { Key: 'b', Value: '' },
    ]);
    await server.sns.send(new UntagResourceCommand({ ResourceArn, TagKeys: ['b', 'unknown'] }));
    expect(await list()).toEqual([{ Key: 'a', Value: '2' }]);
    expect(await refusal(tag([...Tags, ...Tags]))).toMatchObject(invalid('Duplicated keys are not allowed.'));
    const many = Array.from({ length: 51 }, (_, i) => ({ Key: `k${i}`, Value: '' }));
    expect(await refusal(tag(many))).toMatchObject({ code: 'TagLimitExceededException' });
    const other = { Name: 'tagged', Tags: [{ Key: 'a', Value: '9' }] };
    expect(await refusal(server.sns.send(new CreateTopicCommand(other)))).toMatchObject(
      invalid('Tags Reason: Topic already exists with different tags'),
    );
    const gone = new ListTagsForResourceCommand({ ResourceArn: `${ResourceArn}x` });
    expect(await refusal(server.sns.send(gone))).toMatchObject({
      code: 'ResourceNotFoundException',
      status: 404,
    });
  });

  it('carry permissions in their policy', async () => {
    const TopicArn = await topics.create();
    const add = (Label: string, ActionName: string[]) =>
      server.sns.send(
        new AddPermissionCommand({ TopicArn, Label, ActionName, AWSAccountId: ['111111111111'] }),
      );
    await add('l', ['Publish']);
    const statements = async () =>
      (JSON.parse((await attributesOf(TopicArn))['Policy'] ?? '') as { Statement: unknown[] }).Statement;
    expect((await statements())[1]).toEqual({
      Sid: 'l',
      Effect: 'Allow',
      Principal: { AWS: 'arn:aws:iam::111111111111:root' },
      Action: 'SNS:Publish',
      Resource: TopicArn,
    });
    expect(await refusal(add('l', ['Publish']))).toMatchObject(invalid('Statement already exists'));
    expect(await refusal(add('m', ['Nope']))).toMatchObject(
      invalid('Policy statement action out of service scope!'),
    );
    await server.sns.send(new RemovePermissionCommand({ TopicArn, Label: 'l' }));
    expect(await statements()).toHaveLength(1);
  });

  it('carry a data protection policy', async () => {
    const ResourceArn = await topics.create();
    const DataProtectionPolicy = '{"Name":"p","Version":"2021-06-01","Statement":[]}';
    const get = new GetDataProtectionPolicyCommand({ ResourceArn });
    expect((await server.sns.send(get)).DataProtectionPolicy).toBe('');
    const put = (text: string) =>
      server.sns.send(new PutDataProtectionPolicyCommand({ ResourceArn, DataProtectionPolicy: text }));
    await put(DataProtectionPolicy);
    expect((await server.sns.send(get)).DataProtectionPolicy).toBe(DataProtectionPolicy);
    expect((await refusal(put('x'))).code).toBe('InvalidParameterException');
  });

  it('are refused beyond a thousand FIFO topics; one that goes makes room', async () => {
    const own = await startAwsServer();
    try {
      const create = (i: number): Promise<Response> => {
        const parameters = {
          Action: 'CreateTopic',
          Name: `t${i}.fifo`,
          'Attributes.entry.1.key': 'FifoTopic',
        };
        const body = new URLSearchParams({ ...parameters, 'Attributes.entry.1.value': 'true' });
        return fetch(own.url, { method: 'POST', body });
      };
      for (let i = 0; i < 1_000; i++) expect((await create(i)).status).toBe(200);
      const refused = await create(1_000);
      expect(refused.status).toBe(403);
      expect(await refused.text()).toContain('<Code>TopicLimitExceeded</Code>');
      expect((await create(7)).status).toBe(200);
      await own.sns.send(new DeleteTopicCommand({ TopicArn: 'arn:aws:sns:kubemq:000000000000:t7.fifo' }));
      expect((await create(1_000)).status).toBe(200);
    } finally {
      await own.stop();
    }
  });
});

describe('subscriptions', () => {
  it('read back what was subscribed with, and it holds from the next publish on', async () => {
    const topic = await topics.create();
    const url = await queues.create({}, 'filtered');
    const FilterPolicy = '{"source":["a"],"priority":[{"exists":false}]}';
    const given = { FilterPolicy, RawMessageDelivery: 'True' };
    const subscription = await topics.subscribe(topic, queueArn('filtered'), given);
    expect(await topics.attributesOf(subscription)).toMatchObject({
      FilterPolicy,
      FilterPolicyScope: 'MessageAttributes',
      RawMessageDelivery: 'true',
      ConfirmationWasAuthenticated: 'true',
      PendingConfirmation: 'false',
    });
    const text = (StringValue: string) => ({ DataType: 'String', StringValue });
    await topics.publish(topic, 'no', { MessageAttributes: { source: text('b') } });
    await topics.publish(topic, 'no', { MessageAttributes: { source: text('a'), priority: text('1') } });
    await topics.publish(topic, 'yes', { MessageAttributes: { source: text('a') } });
    expect((await queues.receive(url)).map(({ Body }) => Body)).toEqual(['yes']);
    const nested = '{"o":{"k":["x"]}}';
    expect(await refusal(topics.set(subscription, 'FilterPolicy', nested))).toMatchObject(
      invalid('Filter policy scope MessageAttributes does not support nested filter policy'),
    );
    await topics.set(subscription, 'FilterPolicyScope', 'MessageBody');
    await topics.set(subscription, 'FilterPolicy', nested);
    expect(await refusal(topics.set(subscription, 'FilterPolicyScope', 'MessageAttributes'))).toMatchObject(
      invalid('Filter policy scope MessageAttributes does not support nested filter policy'),
    );
    expect(await refusal(topics.set(subscription, 'FilterPolicyScope', 'Random'))).toMatchObject(
      invalid(
        'FilterPolicyScope: Invalid value [Random]. Please use either MessageBody or MessageAttributes',
      ),
    );
    const batch = ['{"o":{"k":"y"}}', '{"o":{"k":"x"}}'].map((Message, i) => ({ Id: `${i}`, Message }));
    await server.sns.send(new PublishBatchCommand({ TopicArn: topic, PublishBatchRequestEntries: batch }));
    expect((await queues.receive(url)).map(({ Body }) => Body)).toEqual(['{"o":{"k":"x"}}']);
    await topics.set(subscription, 'FilterPolicy', '{}');
    expect((await topics.attributesOf(subscription))['FilterPolicy']).toBeUndefined();
    await topics.publish(topic, 'all');
    expect(await queues.receive(url)).toHaveLength(1);
  });

  it('send to their dead-letter queue what has no queue, raw with its attributes', async () => {
    const topic = await topics.create();
    const dead = await queues.create({}, 'sns-dead');
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: queueArn('sns-dead') });
    const raw = { RedrivePolicy, RawMessageDelivery: 'true' };
    const subscription = await topics.subscribe(topic, queueArn('never-made'), raw);
    await topics.publish(topic, 'x', {
      MessageAttributes: { b: { DataType: 'Binary', BinaryValue: Buffer.from([1]) } },
    });
    const [letter] = await queues.receive(dead, { MessageAttributeNames: ['All'] });
    expect(letter).toMatchObject({ Body: 'x', MessageAttributes: { b: { DataType: 'Binary' } } });
    const wrong: [string, string][] = [
      [
        '{"deadLetterTargetArn":"x","maxReceiveCount":1}',
        'RedrivePolicy: invalid JSON. Attribute maxReceiveCount is unknown.',
      ],
      ['{"deadLetterTargetArn":"x"}', 'RedrivePolicy: deadLetterTargetArn is an invalid arn'],
      ['{', 'RedrivePolicy: failed to parse JSON.'],
    ];
    for (const [policy, text] of wrong) {
      expect(await refusal(topics.set(subscription, 'RedrivePolicy', policy))).toMatchObject(invalid(text));
    }
    await topics.set(subscription, 'RedrivePolicy', '');
    const dropped = server.connector.status().counters['fan_out_dropped'] ?? 0;
    await topics.publish(topic, 'lost');
    expect(server.connector.status().counters['fan_out_dropped']).toBe(dropped + 1);
  });

  it('are listed a hundred a page', async () => {
    const topic = await topics.create({}, 'paged');
    await Promise.all(Array.from({ length: 5 }, (_, i) => topics.subscribe(topic, queueArn(`p${i}`))));
    for (let i = 5; i < 105; i++) await topics.subscribe(topic, queueArn(`p${i}`));
    const found = new Set<string | undefined>();
    let NextToken: string | undefined;
    do {
      const page = await server.sns.send(new ListSubscriptionsCommand({ NextToken }));
      expect(page.Subscriptions?.length).toBeLessThanOrEqual(100);
      for (const one of page.Subscriptions ?? []) if (one.TopicArn === topic) found.add(one.Endpoint);
      NextToken = page.NextToken;
    } while (NextToken !== undefined);
    expect(found.size).toBe(105);
  });

  it('are refused beyond 200 filter policies of a topic', async () => {
    const topic = await topics.create();
    const filtered = { FilterPolicy: '{"k":["x"]}' };
    for (let i = 0; i < 200; i++) await topics.subscribe(topic, queueArn(`f${i}`), filtered);
    const subscription = await topics.subscribe(topic, queueArn('plain'));
    const expected = { code: 'FilterPolicyLimitExceededException', status: 403 };
    expect(await refusal(topics.subscribe(topic, queueArn('more'), filtered))).toMatchObject(expected);
    expect(await refusal(topics.set(subscription, 'FilterPolicy', '{"k":["x"]}'))).toMatchObject(expected);
  });
});

describe('mobile push, SMS and e-mail', () => {
  const application = `arn:aws:sns:${ACCOUNT}:app/GCM/a`;
  const endpoint = `arn:aws:sns:${ACCOUNT}:endpoint/GCM/a/b`;

  it('are answered as for an account that has none', async () => {
    const { sns } = server;
    expect((await sns.send(new ListPlatformApplicationsCommand({}))).PlatformApplications).toEqual([]);
    expect((await sns.send(new ListPhoneNumbersOptedOutCommand({}))).phoneNumbers).toEqual([]);
    expect((await sns.send(new ListSMSSandboxPhoneNumbersCommand({}))).PhoneNumbers).toEqual([]);
    expect((await sns.send(new ListOriginationNumbersCommand({}))).PhoneNumbers).toEqual([]);
    expect((await sns.send(new GetSMSSandboxAccountStatusCommand({}))).IsInSandbox).toBe(true);
    expect((await sns.send(new GetSMSAttributesCommand({}))).attributes).toEqual({ MonthlySpendLimit: '1' });
    const phoneNumber = '+15550100';
    expect((await sns.send(new CheckIfPhoneNumberIsOptedOutCommand({ phoneNumber }))).isOptedOut).toBe(false);
    await sns.send(new OptInPhoneNumberCommand({ phoneNumber }));
    await sns.send(new DeletePlatformApplicationCommand({ PlatformApplicationArn: application }));
    await sns.send(new DeleteEndpointCommand({ EndpointArn: endpoint }));
  });

  it('are refused clearly where they would make or need something', async () => {
    const { sns } = server;
    const none = (message: string) => ({ code: 'NotFoundException', status: 404, message });
    const noApplication = none('PlatformApplication does not exist');
    const noEndpoint = none('Endpoint does not exist');
    const PlatformApplicationArn = application;
    const EndpointArn = endpoint;
    const PhoneNumber = '+15550100';
    const Attributes = { Enabled: 'true' };
    const make = { Name: 'a', Platform: 'GCM', Attributes: { PlatformCredential: 'x' } };
    expect(await refusal(sns.send(new CreatePlatformApplicationCommand(make)))).toMatchObject(
      invalid('Platform Reason: this endpoint delivers no mobile push'),
    );
    const ofApplication = [
      sns.send(new GetPlatformApplicationAttributesCommand({ PlatformApplicationArn })),
      sns.send(new SetPlatformApplicationAttributesCommand({ PlatformApplicationArn, Attributes })),
      sns.send(new ListEndpointsByPlatformApplicationCommand({ PlatformApplicationArn })),
      sns.send(new CreatePlatformEndpointCommand({ PlatformApplicationArn, Token: 't' })),
    ];
    for (const call of ofApplication) expect(await refusal(call)).toMatchObject(noApplication);
    const ofEndpoint = [
      sns.send(new GetEndpointAttributesCommand({ EndpointArn })),
      sns.send(new SetEndpointAttributesCommand({ EndpointArn, Attributes })),
    ];
    for (const call of ofEndpoint) expect(await refusal(call)).toMatchObject(noEndpoint);
    const sandboxed = [
      sns.send(new DeleteSMSSandboxPhoneNumberCommand({ PhoneNumber })),
      sns.send(new VerifySMSSandboxPhoneNumberCommand({ PhoneNumber, OneTimePassword: '12345' })),
    ];
    for (const call of sandboxed) expect((await refusal(call)).code).toBe('ResourceNotFoundException');
    const refused = [
      sns.send(new SetSMSAttributesCommand({ attributes: { MonthlySpendLimit: '5' } })),
      sns.send(new CreateSMSSandboxPhoneNumberCommand({ PhoneNumber })),
      sns.send(new PublishCommand({ PhoneNumber, Message: 'x' })),
      sns.send(new PublishCommand({ TargetArn: endpoint, Message: 'x' })),
      sns.send(new CheckIfPhoneNumberIsOptedOutCommand({ phoneNumber: 'x' })),
    ];
    for (const call of refused) expect((await refusal(call)).code).toBe('InvalidParameterException');
  });

  it.each([
    ['email', 'a@example.com'],
    ['email-json', 'a@example.com'],
    ['sms', '+15550100'],
    ['application', endpoint],
    ['lambda', 'arn:aws:lambda:kubemq:000000000000:function:f'],
    ['firehose', 'arn:aws:firehose:kubemq:000000000000:deliverystream/s'],
  ])('are refused as the protocol of a subscription, which is not made: %s', async (Protocol, Endpoint) => {
    const TopicArn = await topics.create();
    const ask = (arn: string) => server.sns.send(new SubscribeCommand({ TopicArn: arn, Protocol, Endpoint }));
    expect(await refusal(ask(TopicArn))).toMatchObject(
      invalid(`Protocol Reason: this endpoint does not deliver to ${Protocol}`),
    );
    const fifo = await topics.create({ FifoTopic: 'true' });
    expect((await refusal(ask(fifo))).message).toContain('FIFO topics deliver to Amazon SQS queues only');
    const list = await server.sns.send(new ListSubscriptionsByTopicCommand({ TopicArn }));
    expect(list.Subscriptions).toEqual([]);
    expect(await attributesOf(TopicArn)).toMatchObject({
      SubscriptionsPending: '0',
      SubscriptionsConfirmed: '0',
    });
  });

  it('leave no operation of SNS out', () => {
    expect(SNS_OPERATIONS.size).toBe(42);
  });
});
