import {
  CreateTopicCommand,
  DeleteTopicCommand,
  GetSubscriptionAttributesCommand,
  GetTopicAttributesCommand,
  ListSubscriptionsByTopicCommand,
  ListSubscriptionsCommand,
  ListTopicsCommand,
  PublishBatchCommand,
  PublishCommand,
  SetSubscriptionAttributesCommand,
  SubscribeCommand,
  UnsubscribeCommand,
  type PublishCommandInput,
} from '@aws-sdk/client-sns';
import { CreateQueueCommand, ReceiveMessageCommand, type Message } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, startAwsServer, type AwsServer } from './aws-server.js';

const ACCOUNT = 'kubemq:000000000000';
const queueArn = (name: string): string => `arn:aws:sqs:${ACCOUNT}:${name}`;

let server: AwsServer;
let names = 0;

beforeAll(async () => {
  server = await startAwsServer();
});
afterAll(() => server.stop());

async function createTopic(name = `t${++names}`, attributes: Record<string, string> = {}): Promise<string> {
  const answer = await server.sns.send(new CreateTopicCommand({ Name: name, Attributes: attributes }));
  return answer.TopicArn ?? '';
}

async function createQueue(): Promise<{ url: string; arn: string }> {
  const name = `q${++names}`;
  const { QueueUrl = '' } = await server.sqs.send(new CreateQueueCommand({ QueueName: name }));
  return { url: QueueUrl, arn: queueArn(name) };
}

async function subscribe(
  TopicArn: string,
  Endpoint: string,
  attributes: Record<string, string> = {},
): Promise<string> {
  const command = new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint, Attributes: attributes });
  return (await server.sns.send(command)).SubscriptionArn ?? '';
}

const publish = (TopicArn: string, Message: string, more: Partial<PublishCommandInput> = {}) =>
  server.sns.send(new PublishCommand({ TopicArn, Message, ...more }));

async function receive(url: string): Promise<readonly Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: url,
    MaxNumberOfMessages: 10,
    MessageAttributeNames: ['All'],
    MessageSystemAttributeNames: ['All'],
  });
  return (await server.sqs.send(command)).Messages ?? [];
}

describe('topics', () => {
  it('are made once, listed and deleted with their subscriptions', async () => {
    const topic = await createTopic('news', { DisplayName: 'News' });
    expect(topic).toBe(`arn:aws:sns:${ACCOUNT}:news`);
    expect(await createTopic('news')).toBe(topic);
    expect(await refusal(createTopic('news', { DisplayName: 'Other' }))).toMatchObject({
      code: 'InvalidParameterException',
      message: 'Invalid parameter: Attributes Reason: Topic already exists with different attributes',
    });
    const listed = await server.sns.send(new ListTopicsCommand({}));
    expect(listed.Topics).toContainEqual({ TopicArn: topic });
    const { arn } = await createQueue();
    await subscribe(topic, arn);
    const attributes = await server.sns.send(new GetTopicAttributesCommand({ TopicArn: topic }));
    expect(attributes.Attributes).toMatchObject({ DisplayName: 'News', SubscriptionsConfirmed: '1' });
    await server.sns.send(new DeleteTopicCommand({ TopicArn: topic }));
    await server.sns.send(new DeleteTopicCommand({ TopicArn: topic }));
    const all = await server.sns.send(new ListSubscriptionsCommand({}));
    expect(all.Subscriptions?.filter(({ TopicArn }) => TopicArn === topic)).toEqual([]);
    expect(await refusal(publish(topic, 'x'))).toMatchObject({ code: 'NotFoundException', status: 404 });
  });

  it('list a hundred a page', async () => {
    for (let i = 0; i < 105; i++) await createTopic(`page-${String(i).padStart(3, '0')}`);
    const found = new Set<string | undefined>();
    let token: string | undefined;
    do {
      const page = await server.sns.send(new ListTopicsCommand({ NextToken: token }));
      expect(page.Topics?.length).toBeLessThanOrEqual(100);
      for (const { TopicArn } of page.Topics ?? []) found.add(TopicArn);
      token = page.NextToken;
    } while (token !== undefined);
    expect([...found].filter((arn) => arn?.includes(':page-'))).toHaveLength(105);
  });

  it.each<[string, Record<string, string>]>([
    ['', {}],
    ['has space', {}],
    ['x'.repeat(257), {}],
    ['dot.fifo', {}],
    ['fifo', { FifoTopic: 'true' }],
    ['unknown', { Nope: 'x' }],
  ])('refuse the name %j with %j', async (name, attributes) => {
    expect(await refusal(createTopic(name, attributes))).toMatchObject({
      code: 'InvalidParameterException',
      status: 400,
    });
  });
});

describe('subscriptions', () => {
  it('are unique by endpoint, listed by topic, and removed', async () => {
    const topic = await createTopic();
    const { arn } = await createQueue();
    const subscription = await subscribe(topic, arn);
    expect(subscription.startsWith(`${topic}:`)).toBe(true);
    expect(await subscribe(topic, arn)).toBe(subscription);
    expect(await refusal(subscribe(topic, arn, { RawMessageDelivery: 'true' }))).toMatchObject({
      message: 'Invalid parameter: Attributes Reason: Subscription already exists with different attributes',
    });
    const listed = await server.sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: topic }));
    expect(listed.Subscriptions).toEqual([
      {
        SubscriptionArn: subscription,
        Owner: '000000000000',
        Protocol: 'sqs',
        Endpoint: arn,
        TopicArn: topic,
      },
    ]);
    const remove = () => server.sns.send(new UnsubscribeCommand({ SubscriptionArn: subscription }));
    await remove();
    await remove();
    const none = await server.sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: topic }));
    expect(none.Subscriptions).toEqual([]);
  });

  it('made at the same moment all come into being', async () => {
    const topic = await createTopic();
    const queues = await Promise.all(Array.from({ length: 5 }, createQueue));
    const arns = await Promise.all(queues.map(({ arn }) => subscribe(topic, arn)));
    expect(new Set(arns).size).toBe(5);
  });

  it('read and set raw delivery', async () => {
    const topic = await createTopic();
    const SubscriptionArn = await subscribe(topic, (await createQueue()).arn, { RawMessageDelivery: 'True' });
    const raw = async () =>
      (await server.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }))).Attributes?.[
        'RawMessageDelivery'
      ];
    expect(await raw()).toBe('true');
    const set = (AttributeName: string, AttributeValue: string) =>
      server.sns.send(
        new SetSubscriptionAttributesCommand({ SubscriptionArn, AttributeName, AttributeValue }),
      );
    await set('RawMessageDelivery', 'false');
    expect(await raw()).toBe('false');
    expect(await refusal(set('Nope', 'x'))).toMatchObject({ message: 'Invalid parameter: AttributeName' });
    expect(await refusal(set('RawMessageDelivery', 'yes'))).toMatchObject({
      code: 'InvalidParameterException',
    });
  });

  it('are refused when they cannot be served', async () => {
    const TopicArn = await createTopic();
    const ask = (Protocol: string, Endpoint: string, Attributes = {}, arn = TopicArn) =>
      refusal(server.sns.send(new SubscribeCommand({ TopicArn: arn, Protocol, Endpoint, Attributes })));
    const invalid = (text: string) => ({
      code: 'InvalidParameterException',
      message: `Invalid parameter: ${text}`,
    });
    expect(await ask('foo', 'x')).toMatchObject(
      invalid('Amazon SNS does not support this protocol string: foo'),
    );
    expect(await ask('email', 'a@example.com')).toMatchObject(
      invalid('Protocol Reason: this endpoint does not deliver to email'),
    );
    expect(await ask('https', 'http://h/x')).toMatchObject(
      invalid('Endpoint must match the specified protocol'),
    );
    expect(await ask('sqs', `${server.url}/000000000000/q`)).toMatchObject(invalid('SQS endpoint ARN'));
    expect((await ask('sqs', queueArn('q.fifo'))).message).toContain('FIFO SQS Queues can not be subscribed');
    expect(await ask('sqs', queueArn('q'), { FilterPolicy: '[]' })).toMatchObject(
      invalid('Attributes Reason: FilterPolicy: Filter is not an object'),
    );
    expect(await ask('sqs', queueArn('q'), {}, 'arn:aws:sns')).toMatchObject(
      invalid('TopicArn Reason: An ARN must have at least 6 elements, not 3'),
    );
    expect(await ask('sqs', queueArn('q'), {}, `arn:aws:sns:${ACCOUNT}:none`)).toMatchObject({
      code: 'NotFoundException',
      message: 'Topic does not exist',
    });
    const unsubscribe = (SubscriptionArn: string) =>
      server.sns.send(new UnsubscribeCommand({ SubscriptionArn }));
    await unsubscribe(`${TopicArn}:6b0e71bd-7e97-4d97-80ce-4a0994e55286`);
    expect(await refusal(unsubscribe(TopicArn))).toMatchObject(invalid('SubscriptionId'));
    expect((await refusal(unsubscribe('arn:aws:sns:a:b'))).message).toContain('not 5');
  });
});

describe('publishing', () => {
  const attributes = {
    k: { DataType: 'String', StringValue: 'x' },
    list: { DataType: 'String.Array', StringValue: '["a"]' },
    b: { DataType: 'Binary', BinaryValue: Buffer.from([0, 1]) },
  };

  it('reaches every queue, in an envelope or raw, with one MessageId', async () => {
    const topic = await createTopic();
    const enveloped = await createQueue();
    const raw = await createQueue();
    const subscription = await subscribe(topic, enveloped.arn);
    await subscribe(topic, raw.arn, { RawMessageDelivery: 'true' });
    await subscribe(topic, queueArn('never-made'));
    const sent = await publish(topic, 'news "<ü>"', { Subject: 'S', MessageAttributes: attributes });
    const [envelope] = await receive(enveloped.url);
    const notification = JSON.parse(envelope?.Body ?? '') as Record<string, unknown>;
    expect(Object.keys(notification)).toEqual([
      'Type',
      'MessageId',
      'TopicArn',
      'Subject',
      'Message',
      'Timestamp',
      'UnsubscribeURL',
      'MessageAttributes',
    ]);
    expect(notification).toMatchObject({
      Type: 'Notification',
      MessageId: sent.MessageId,
      TopicArn: topic,
      Subject: 'S',
      Message: 'news "<ü>"',
      UnsubscribeURL: `${server.url}/?Action=Unsubscribe&SubscriptionArn=${subscription}`,
      MessageAttributes: {
        k: { Type: 'String', Value: 'x' },
        list: { Type: 'String.Array', Value: '["a"]' },
        b: { Type: 'Binary', Value: 'AAE=' },
      },
    });
    expect(envelope?.MessageAttributes).toBeUndefined();
    expect(envelope?.MessageId).not.toBe(sent.MessageId);
    const [bare] = await receive(raw.url);
    expect(bare?.Body).toBe('news "<ü>"');
    expect(Object.keys(bare?.MessageAttributes ?? {})).toEqual(['b', 'k', 'list']);
    expect(Buffer.from(bare?.MessageAttributes?.['b']?.BinaryValue ?? [])).toEqual(Buffer.from([0, 1]));
    expect(server.connector.status().counters['fan_out_dropped']).toBe(1);
  });

  it('passes without a subscriber, and by the link of a notification no more', async () => {
    const topic = await createTopic();
    expect((await publish(topic, 'x')).MessageId).toBeDefined();
    const queue = await createQueue();
    await subscribe(topic, queue.arn);
    await publish(topic, 'once');
    const [message] = await receive(queue.url);
    const { UnsubscribeURL } = JSON.parse(message?.Body ?? '') as { UnsubscribeURL: string };
    expect((await fetch(UnsubscribeURL)).status).toBe(200);
    await publish(topic, 'gone');
    expect(await receive(queue.url)).toEqual([]);
  });

  it('hands trace header and group on to the queue', async () => {
    const topic = await createTopic();
    const queue = await createQueue();
    await subscribe(topic, queue.arn);
    const command = new PublishCommand({ TopicArn: topic, Message: 'x', MessageGroupId: 'g' });
    const trace = 'Root=1-5759e988-bd862e3fe1be46a994272793';
    command.middlewareStack.add(
      (next) => (args) => {
        (args.request as { headers: Record<string, string> }).headers['X-Amzn-Trace-Id'] = trace;
        return next(args);
      },
      { step: 'build' },
    );
    await server.sns.send(command);
    const [message] = await receive(queue.url);
    expect(message?.Attributes).toMatchObject({ AWSTraceHeader: trace, MessageGroupId: 'g' });
  });

  it('takes the text meant for queues of a structured message', async () => {
    const topic = await createTopic();
    const queue = await createQueue();
    await subscribe(topic, queue.arn, { RawMessageDelivery: 'true' });
    const json = (value: unknown) => publish(topic, JSON.stringify(value), { MessageStructure: 'json' });
    await json({ default: 'd', sqs: 's' });
    await json({ default: 'd', http: 'h' });
    expect((await receive(queue.url)).map(({ Body }) => Body)).toEqual(['s', 'd']);
    expect((await refusal(json({ sqs: 's' }))).message).toContain('No default entry');
    expect((await refusal(publish(topic, 'no json', { MessageStructure: 'json' }))).message).toContain(
      'failed to parse',
    );
  });

  it('goes in batches', async () => {
    const topic = await createTopic();
    const queue = await createQueue();
    await subscribe(topic, queue.arn, { RawMessageDelivery: 'true' });
    const batch = (entries: { Id: string; Message: string }[]) =>
      server.sns.send(new PublishBatchCommand({ TopicArn: topic, PublishBatchRequestEntries: entries }));
    const answer = await batch([
      { Id: 'a', Message: '1' },
      { Id: 'b', Message: '' },
      { Id: 'c', Message: '3' },
    ]);
    expect(answer.Successful?.map(({ Id }) => Id)).toEqual(['a', 'c']);
    expect(answer.Failed).toMatchObject([{ Id: 'b', Code: 'InvalidParameter', SenderFault: true }]);
    expect((await receive(queue.url)).map(({ Body }) => Body)).toEqual(['1', '3']);
    expect(await refusal(batch([]))).toMatchObject({ code: 'EmptyBatchRequestException' });
    expect(await refusal(batch([{ Id: 'a.b', Message: 'x' }]))).toMatchObject({
      code: 'InvalidBatchEntryIdException',
    });
    const large = { Message: 'x'.repeat(200_000) };
    expect(
      await refusal(
        batch([
          { Id: 'a', ...large },
          { Id: 'b', ...large },
        ]),
      ),
    ).toMatchObject({
      code: 'BatchRequestTooLongException',
    });
  });

  it('is refused with a reason', async () => {
    const topic = await createTopic();
    const cases: [string, Partial<PublishCommandInput>, string, string][] = [
      ['', {}, 'InvalidParameterException', 'Invalid parameter: Empty message'],
      ['x'.repeat(262_145), {}, 'InvalidParameterException', 'Invalid parameter: Message too long'],
      ['x', { Subject: 'a\nb' }, 'InvalidParameterException', 'Invalid parameter: Subject'],
      ['x', { Subject: 'x'.repeat(100) }, 'InvalidParameterException', 'Invalid parameter: Subject'],
      ['x', { TopicArn: undefined }, 'InvalidParameterException', 'exactly one'],
      ['x', { TopicArn: undefined, PhoneNumber: '+1' }, 'InvalidParameterException', 'PhoneNumber'],
      ['x', { MessageDeduplicationId: 'd' }, 'InvalidParameterException', 'MessageDeduplicationId'],
      [
        'x',
        { MessageAttributes: { k: { DataType: 'Foo', StringValue: 'x' } } },
        'InvalidParameterValueException',
        'invalid message attribute type',
      ],
      [
        'x',
        { MessageAttributes: { k: { DataType: 'String', StringValue: '' } } },
        'InvalidParameterValueException',
        'non-empty',
      ],
      [
        'x',
        { MessageAttributes: { k: { DataType: undefined, StringValue: 'x' } } },
        'ValidationException',
        'dataType',
      ],
    ];
    for (const [message, more, code, text] of cases) {
      const refused = await refusal(publish(topic, message, more));
      expect(refused.message).toContain(text);
      expect(refused.code).toContain(code.replace('Exception', ''));
    }
  });
});
