import {
  ConfirmSubscriptionCommand,
  ListSubscriptionsByTopicCommand,
  SubscribeCommand,
  UnsubscribeCommand,
} from '@aws-sdk/client-sns';
import { createPublicKey, verify, X509Certificate } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { CREDENTIALS, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';
import { confirm, Hook, queueArn, Topics, type Post } from './sns-rig.js';

let clock: ManualClock;
let server: AwsServer;
let topics: Topics;
let queues: Queues;
const hooks: Hook[] = [];

beforeAll(async () => {
  clock = new ManualClock(Date.now());
  // Every signature is checked: what passes unsigned is meant to.
  server = await startAwsServer({ clock, config: { credentials: [CREDENTIALS] } });
  topics = new Topics(server);
  queues = new Queues(server);
});
afterEach(async () => {
  await Promise.all(hooks.splice(0).map((hook) => hook.stop()));
});
afterAll(() => server.stop());

async function newHook(): Promise<Hook> {
  const hook = await Hook.start();
  hooks.push(hook);
  return hook;
}

/** A confirmed subscription; the posts of a hook then begin with the confirmation. */
async function subscribed(
  attributes: Record<string, string> = {},
  topicAttributes: Record<string, string> = {},
): Promise<{ hook: Hook; topic: string; subscription: string }> {
  const hook = await newHook();
  const topic = await topics.create(topicAttributes);
  const subscription = await topics.subscribe(topic, `${hook.url}/in`, attributes);
  await confirm(hook);
  return { hook, topic, subscription };
}

const document = (post: Post) => JSON.parse(post.body) as Record<string, string>;

/** Lets time go by until the broker has done what it waits for. */
async function until<T>(look: () => Promise<T | undefined> | T | undefined, stepMs = 0): Promise<T> {
  for (let i = 0; i < 2_000; i++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (stepMs > 0) await pass(clock, stepMs);
  }
  throw new Error('it did not come to that');
}

const counter = (name: string): number => server.connector.status().counters[name] ?? 0;

/** Verifies a document as AWS documents it, with nothing of ours: keys in byte order, each with its value. */
async function verifies(message: Record<string, string>): Promise<boolean> {
  const keys =
    message['Type'] === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  const text = keys.filter((key) => message[key] !== undefined).map((key) => `${key}\n${message[key]}\n`);
  const answer = await fetch(message['SigningCertURL'] ?? '');
  expect(answer.status).toBe(200);
  const certificate = new X509Certificate(await answer.text());
  const algorithm = message['SignatureVersion'] === '2' ? 'sha256' : 'sha1';
  const signature = Buffer.from(message['Signature'] ?? '', 'base64');
  return verify(
    algorithm,
    Buffer.from(text.join('')),
    createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' })),
    signature,
  );
}

describe('the handshake', () => {
  it('asks the endpoint, delivers nothing before, and everything after the unsigned SubscribeURL', async () => {
    const hook = await newHook();
    const topic = await topics.create();
    const input = { TopicArn: topic, Protocol: 'http', Endpoint: `${hook.url}/in?x=1` };
    const answer = await server.sns.send(new SubscribeCommand(input));
    expect(answer.SubscriptionArn).toBe('pending confirmation');
    const first = await hook.post(1);
    const asked = document(first);
    expect(Object.keys(asked)).toEqual([
      'Type',
      'MessageId',
      'Token',
      'TopicArn',
      'Message',
      'SubscribeURL',
      'Timestamp',
      'SignatureVersion',
      'Signature',
      'SigningCertURL',
    ]);
    expect(first.path).toBe('/in?x=1');
    expect(first.headers).toMatchObject({
      'x-amz-sns-message-type': 'SubscriptionConfirmation',
      'x-amz-sns-message-id': asked['MessageId'],
      'x-amz-sns-topic-arn': topic,
      'content-type': 'text/plain; charset=UTF-8',
      'user-agent': 'Amazon Simple Notification Service Agent',
    });
    expect(first.headers['x-amz-sns-subscription-arn']).toBeUndefined();
    expect(asked['SubscribeURL']).toBe(
      `${server.url}/?Action=ConfirmSubscription&TopicArn=${topic}&Token=${asked['Token']}`,
    );
    expect(await verifies(asked)).toBe(true);
    expect(await verifies({ ...asked, Token: 'other' })).toBe(false);
    const list = new ListSubscriptionsByTopicCommand({ TopicArn: topic });
    expect((await server.sns.send(list)).Subscriptions?.[0]?.SubscriptionArn).toBe('PendingConfirmation');
    await topics.publish(topic, 'before');

    // Asking again asks the endpoint again, with the same token.
    await server.sns.send(new SubscribeCommand(input));
    expect(document(await hook.post(2))['Token']).toBe(asked['Token']);
    const confirmed = await fetch(asked['SubscribeURL'] ?? '');
    expect(confirmed.status).toBe(200);
    const subscription = /<SubscriptionArn>([^<]+)</.exec(await confirmed.text())?.[1] ?? '';
    expect(subscription.startsWith(`${topic}:`)).toBe(true);
    expect((await fetch(asked['SubscribeURL'] ?? '')).status).toBe(200);
    expect((await server.sns.send(list)).Subscriptions?.[0]?.SubscriptionArn).toBe(subscription);
    expect(await topics.attributesOf(subscription)).toMatchObject({
      PendingConfirmation: 'false',
      ConfirmationWasAuthenticated: 'false',
      Protocol: 'http',
    });
    expect((await server.sns.send(new SubscribeCommand(input))).SubscriptionArn).toBe(subscription);

    const sent = await topics.publish(topic, 'after');
    const post = await hook.post(3);
    expect(document(post)).toMatchObject({
      Type: 'Notification',
      MessageId: sent.MessageId,
      Message: 'after',
    });
    expect(post.headers).toMatchObject({
      'x-amz-sns-message-type': 'Notification',
      'x-amz-sns-message-id': sent.MessageId,
      'x-amz-sns-subscription-arn': subscription,
    });
  });

  it('refuses tokens that are not right', async () => {
    const hook = await newHook();
    const topic = await topics.create();
    await topics.subscribe(topic, hook.url);
    const Token = document(await hook.post(1))['Token'] ?? '';
    const ask = (token: string, TopicArn = topic) =>
      refusal(server.sns.send(new ConfirmSubscriptionCommand({ TopicArn, Token: token })));
    expect(await ask('nonsense')).toMatchObject({ message: 'Invalid token', status: 400 });
    for (const unknown of ['0'.repeat(Token.length), 'abc123']) {
      expect(await ask(unknown)).toMatchObject({ message: 'Invalid parameter: Token', status: 400 });
    }
    expect(await ask(Token, `${topic}x`)).toMatchObject({ message: 'Invalid parameter: Topic', status: 400 });
    expect(await ask(Token, 'no-arn')).toMatchObject({ message: 'Invalid parameter: Topic' });
  });
});

describe('a notification', () => {
  it.each(['1', '2'])('is signed in version %s', async (SignatureVersion) => {
    const { hook, topic } = await subscribed({}, { SignatureVersion });
    await topics.publish(topic, 'text "<ü>"\n', {
      Subject: 'S',
      MessageAttributes: { k: { DataType: 'String', StringValue: 'v' } },
    });
    const message = document(await hook.post(2));
    expect(Object.keys(message)).toEqual([
      'Type',
      'MessageId',
      'TopicArn',
      'Subject',
      'Message',
      'Timestamp',
      'SignatureVersion',
      'Signature',
      'SigningCertURL',
      'UnsubscribeURL',
      'MessageAttributes',
    ]);
    expect(message['SignatureVersion']).toBe(SignatureVersion);
    expect(await verifies(message)).toBe(true);
    expect(await verifies({ ...message, Message: 'forged' })).toBe(false);
  });

  it('comes raw, with its attributes as headers', async () => {
    const DeliveryPolicy = JSON.stringify({ requestPolicy: { headerContentType: 'application/json' } });
    const { hook, topic } = await subscribed({ RawMessageDelivery: 'true', DeliveryPolicy });
    await topics.publish(topic, '{"a":"ü"}', {
      MessageAttributes: {
        plain: { DataType: 'String', StringValue: 'a b' },
        odd: { DataType: 'String', StringValue: 'ü\r\nX-Evil: 1' },
        b: { DataType: 'Binary', BinaryValue: Buffer.from([0, 255]) },
      },
    });
    const { headers, body } = await hook.post(2);
    expect(body).toBe('{"a":"ü"}');
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-amz-sns-rawdelivery': 'true',
      'x-amz-sns-attr-plain': 'a b',
      'x-amz-sns-attr-odd': '%C3%BC%0D%0AX-Evil:%201',
      'x-amz-sns-attr-b': 'AP8=',
    });
    expect(headers['x-evil']).toBeUndefined();
  });

  it('honours user and password of the URL, and hides the password', async () => {
    const hook = await newHook();
    const topic = await topics.create();
    const subscription = await topics.subscribe(topic, hook.url.replace('http://', 'http://user:p%40ss@'));
    const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect((await hook.post(1)).headers.authorization).toBe(basic);
    const { Endpoint } = await topics.attributesOf(subscription);
    expect(Endpoint).toBe(hook.url.replace('http://', 'http://user:****@'));
  });

  it('takes the text of its protocol, and passes the filter', async () => {
    const { hook, topic, subscription } = await subscribed({ RawMessageDelivery: 'true' });
    await topics.set(subscription, 'FilterPolicy', '{"k":["yes"]}');
    const k = (StringValue: string) => ({ MessageAttributes: { k: { DataType: 'String', StringValue } } });
    const structured = { MessageStructure: 'json' };
    await topics.publish(topic, '{"default":"d","http":"no"}', { ...structured, ...k('no') });
    await topics.publish(topic, '{"default":"d","http":"h"}', { ...structured, ...k('yes') });
    expect((await hook.post(2)).body).toBe('h');
  });
});

describe('deliveries that fail', () => {
  it('are tried again as the policy says, with the same id, until they are taken', async () => {
    const { hook, topic } = await subscribed();
    const times: number[] = [];
    hook.answer = (_, nth) => {
      times.push(clock.now());
      return [500, 429, 503][nth - 2] ?? 200;
    };
    const { MessageId } = await topics.publish(topic, 'x');
    await until(() => (hook.posts.length === 5 ? true : undefined), 500);
    const waits = times.slice(1).map((at, i) => at - (times[i] ?? 0));
    // Three retries 20 s apart, and up to a tenth more; a step of the clock may come on top.
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(20_000);
    for (const wait of waits) expect(wait).toBeLessThan(23_500);
    const ids = hook.posts.slice(1).map(({ headers }) => headers['x-amz-sns-message-id']);
    expect(new Set(ids)).toEqual(new Set([MessageId]));
    await pass(clock, 60_000);
    expect(hook.posts).toHaveLength(5);
  });

  it('go to the dead-letter queue of the subscription, as they were posted', async () => {
    const url = await queues.create({}, 'webhook-dead');
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: queueArn('webhook-dead') });
    const DeliveryPolicy = JSON.stringify({
      healthyRetryPolicy: { numRetries: 2, numNoDelayRetries: 2, minDelayTarget: 1, maxDelayTarget: 1 },
    });
    const { hook, topic, subscription } = await subscribed({ RedrivePolicy, DeliveryPolicy });
    hook.answer = () => 500;
    await topics.publish(topic, 'enveloped');
    await hook.post(4);
    const [letter] = await until(async () => {
      const found = await queues.receive(url);
      return found.length > 0 ? found : undefined;
    }, 10);
    expect(JSON.parse(letter?.Body ?? '')).toMatchObject({ Type: 'Notification', Message: 'enveloped' });
    await topics.set(subscription, 'RawMessageDelivery', 'true');
    // A client error is not tried again.
    hook.answer = () => 404;
    await topics.publish(topic, 'bare', {
      MessageAttributes: {
        n: { DataType: 'Number', StringValue: '5' },
        b: { DataType: 'Binary', BinaryValue: Buffer.from([1]) },
      },
    });
    const [second] = await until(async () => {
      const found = await queues.receive(url, { MessageAttributeNames: ['All'] });
      return found.length > 0 ? found : undefined;
    });
    expect(second).toMatchObject({
      Body: 'bare',
      MessageAttributes: { n: { DataType: 'Number' }, b: { DataType: 'Binary' } },
    });
    expect(hook.posts).toHaveLength(5);
  });

  it('are throttled to as many a second as the policy allows', async () => {
    const DeliveryPolicy = JSON.stringify({ throttlePolicy: { maxReceivesPerSecond: 2 } });
    const { hook, topic } = await subscribed({ DeliveryPolicy });
    for (let i = 0; i < 5; i++) await topics.publish(topic, `m${i}`);
    await hook.post(2);
    await pass(clock, 400);
    expect(hook.posts).toHaveLength(2);
    await pass(clock, 700);
    await hook.post(4);
    expect(hook.posts).toHaveLength(4);
    await until(() => (hook.posts.length === 6 ? true : undefined), 100);
  });

  it('end when nobody answers in time', async () => {
    const { hook, topic } = await subscribed();
    let release = (): void => undefined;
    hook.answer = () => new Promise((resolve) => (release = () => resolve(200)));
    await topics.publish(topic, 'slow');
    await hook.post(2);
    hook.answer = () => 200;
    const retries = counter('webhook_retries');
    await pass(clock, 16_000);
    await until(() => (counter('webhook_retries') > retries ? true : undefined));
    await pass(clock, 25_000);
    await hook.post(3);
    release();
  });

  it('follow redirects on the same host only', async () => {
    const { hook, topic } = await subscribed();
    hook.answer = (post) => (post.path === '/in' ? [307, { Location: '/moved' }] : 200);
    await topics.publish(topic, 'x');
    expect((await hook.post(3)).path).toBe('/moved');
    const other = await newHook();
    const retries = counter('webhook_retries');
    hook.answer = () => [307, { Location: `${other.url}/stolen` }];
    await topics.publish(topic, 'y');
    await until(() => (counter('webhook_retries') > retries ? true : undefined));
    expect(other.posts).toEqual([]);
  });
});

describe('the end of a subscription', () => {
  it('by the unsigned link is told to the endpoint, which can bring it back', async () => {
    const { hook, topic, subscription } = await subscribed({ RawMessageDelivery: 'false' });
    await topics.publish(topic, 'x');
    const { UnsubscribeURL = '' } = document(await hook.post(2));
    expect((await fetch(UnsubscribeURL)).status).toBe(200);
    const told = await hook.post(3);
    const farewell = document(told);
    expect(told.headers).toMatchObject({
      'x-amz-sns-message-type': 'UnsubscribeConfirmation',
      'x-amz-sns-subscription-arn': subscription,
    });
    expect(farewell['Message']).toContain(`You have chosen to deactivate subscription ${subscription}.`);
    expect(await verifies(farewell)).toBe(true);
    await topics.publish(topic, 'nobody');
    expect((await refusal(topics.attributesOf(subscription))).code).toBe('NotFoundException');
    expect((await fetch(farewell['SubscribeURL'] ?? '')).status).toBe(200);
    expect(await topics.attributesOf(subscription)).toMatchObject({ PendingConfirmation: 'false' });
    await topics.publish(topic, 'back');
    expect(document(await hook.post(4))['Message']).toBe('back');
  });

  it('needs a signature when its subscriber said so', async () => {
    const hook = await newHook();
    const topic = await topics.create();
    const subscription = await topics.subscribe(topic, hook.url);
    const { Token, SubscribeURL } = document(await hook.post(1));
    expect((await fetch(`${SubscribeURL}&AuthenticateOnUnsubscribe=true`)).status).toBe(403);
    const input = { TopicArn: topic, Token, AuthenticateOnUnsubscribe: 'true' };
    await server.sns.send(new ConfirmSubscriptionCommand(input));
    expect(await topics.attributesOf(subscription)).toMatchObject({ ConfirmationWasAuthenticated: 'true' });
    const link = `${server.url}/?Action=Unsubscribe&SubscriptionArn=${subscription}`;
    const refused = await fetch(link);
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('AuthorizationError'),
    ]);
    await server.sns.send(new UnsubscribeCommand({ SubscriptionArn: subscription }));
    expect((await refusal(topics.attributesOf(subscription))).code).toBe('NotFoundException');
  });

  it('does not open other operations to the unsigned', async () => {
    expect((await fetch(`${server.url}/?Action=ListTopics&Version=2010-03-31`)).status).toBe(403);
    const forged = await fetch(`${server.url}/?Action=Unsubscribe&SubscriptionArn=arn:aws:sns:a:b:c:d`, {
      headers: {
        authorization:
          'AWS4-HMAC-SHA256 Credential=x/20260101/r/sns/aws4_request, SignedHeaders=host, Signature=00',
      },
    });
    expect([forged.status, await forged.text()]).toEqual([
      400,
      expect.stringContaining('IncompleteSignature'),
    ]);
  });
});
