import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateTopicCommand,
  ListTopicsCommand,
  PublishCommand,
  SNSClient,
  SubscribeCommand,
} from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { credentials } from '@grpc/grpc-js';
import { v1 } from '@google-cloud/pubsub';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../../src/app/index.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { temporaryFolder } from '../../support/folder.js';
import { NativeClient } from '../../support/native-client.js';
import { startServer } from '../../support/server.js';

const SECRET = 'a secret that is long enough for every algorithm: 0123456789abcdef';
const folder = temporaryFolder();
const policyFile = join(folder.path, 'policy.json');

/** Alice works with everything called orders; Bob may only look at reports. `root` may do everything. */
const POLICY = [
  {
    ClientID: 'root',
    Channel: '.*',
    Events: true,
    EventsStore: true,
    Queues: true,
    Commands: true,
    Queries: true,
    Read: true,
    Write: true,
  },
  {
    ClientID: 'alice',
    Channel: '(sqs|sns|gcp|gcp\\.sub|amqp\\.default|native)\\.orders.*',
    Events: true,
    EventsStore: true,
    Queues: true,
    Commands: true,
    Queries: true,
    Read: true,
    Write: true,
  },
  {
    ClientID: 'bob*',
    Channel: '.*reports',
    EventsStore: true,
    Queues: true,
    Events: true,
    Queries: true,
    Read: true,
  },
];

function token(
  clientId: string,
  key: KeyObject = createSecretKey(Buffer.from(SECRET)),
  alg = 'HS256',
  exp = '1h',
): Promise<string> {
  return new SignJWT({ ClientID: clientId })
    .setProtectedHeader({ alg })
    .setIssuedAt()
    .setExpirationTime(exp)
    .sign(key);
}

let running: RunningBroker;
let tokens: { readonly root: string; readonly alice: string; readonly bob: string };
beforeAll(async () => {
  writeFileSync(policyFile, JSON.stringify(POLICY));
  const [root, alice, bob] = await Promise.all([token('root'), token('alice'), token('bob-1')]);
  tokens = { root, alice, bob };
  running = await startServer({
    config: {
      authentication: { enable: true, jwtConfig: { key: SECRET } },
      authorization: { enable: true, filePath: policyFile, autoReload: 0 },
      connectors: {
        aws: {
          credentials: ['root', 'alice', 'bob-1'].map((accessKeyId) => ({
            accessKeyId,
            secretAccessKey: 'secret',
          })),
        },
      },
    },
  });
});
afterAll(async () => {
  await running.stop();
  folder.remove();
});

const denied = (call: Promise<unknown>): Promise<{ readonly name: string; readonly message: string }> =>
  call.then(
    () => Promise.reject(new Error('it was allowed')),
    (error: unknown) => error as Error,
  );

describe('SQS and SNS', () => {
  const clients: { destroy(): void }[] = [];
  afterAll(() => clients.forEach((client) => client.destroy()));

  function aws(accessKeyId: string): { readonly sqs: SQSClient; readonly sns: SNSClient } {
    const { port } = running.address('aws');
    const options = {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      credentials: { accessKeyId, secretAccessKey: 'secret' },
      maxAttempts: 1,
    };
    const made = { sqs: new SQSClient(options), sns: new SNSClient(options) };
    clients.push(made.sqs, made.sns);
    return made;
  }

  it('the access key is the ClientID: its own queues work, others are AccessDenied', async () => {
    const { sqs } = aws('alice');
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }));
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }));
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: Messages?.[0]?.ReceiptHandle }));

    await aws('root').sqs.send(new CreateQueueCommand({ QueueName: 'reports' }));
    expect(await denied(sqs.send(new CreateQueueCommand({ QueueName: 'reports' })))).toMatchObject({
      name: 'AccessDenied',
      message:
        'User: arn:aws:iam::000000000000:user/alice is not authorized to perform: sqs:createqueue on resource: ' +
        'arn:aws:sqs:kubemq:000000000000:reports because no identity-based policy allows the sqs:createqueue action',
    });
    expect((await denied(sqs.send(new GetQueueUrlCommand({ QueueName: 'reports' })))).name).toBe(
      'AccessDenied',
    );
    expect((await sqs.send(new ListQueuesCommand({}))).QueueUrls).toEqual([QueueUrl]);
  });

  it('who may only read cannot send, nor make anything', async () => {
    await aws('root').sqs.send(new CreateQueueCommand({ QueueName: 'reports' }));
    const { sqs } = aws('bob-1');
    const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: 'reports' }));
    await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    const Entries = [{ Id: 'a', MessageBody: 'x' }];
    for (const call of [
      sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' })),
      sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries })),
      sqs.send(new CreateQueueCommand({ QueueName: 'more-reports' })),
    ]) {
      expect((await denied(call)).name).toBe('AccessDenied');
    }
  });

  it('topics are resources named sns.{topic}, and a subscription must be allowed to write its queue', async () => {
    const root = aws('root');
    const { sqs, sns } = aws('alice');
    await root.sqs.send(new CreateQueueCommand({ QueueName: 'reports' }));
    await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }));
    const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: 'orders' }));
    await sns.send(
      new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: 'arn:aws:sqs:kubemq:000000000000:orders' }),
    );
    await sns.send(new PublishCommand({ TopicArn, Message: 'x' }));
    const toReports = { TopicArn, Protocol: 'sqs', Endpoint: 'arn:aws:sqs:kubemq:000000000000:reports' };
    expect((await denied(sns.send(new SubscribeCommand(toReports)))).name).toBe(
      'AuthorizationErrorException',
    );
    // Root subscribed it: then publishing goes there without the publisher's right.
    await root.sns.send(new SubscribeCommand(toReports));
    const before = running.broker.queueStats('sqs.reports' as ChannelName)?.ready ?? 0;
    await sns.send(new PublishCommand({ TopicArn, Message: 'y' }));
    expect(running.broker.queueStats('sqs.reports' as ChannelName)?.ready).toBe(before + 1);

    // The link in a delivery was sent to its reader alone: it needs neither a signature nor a right.
    const got = await root.sqs.send(new ReceiveMessageCommand({ QueueUrl: 'reports' }));
    const { UnsubscribeURL } = JSON.parse(got.Messages?.[0]?.Body ?? '{}') as { UnsubscribeURL: string };
    expect((await fetch(UnsubscribeURL)).status).toBe(200);
    await sns.send(new PublishCommand({ TopicArn, Message: 'z' }));
    expect(running.broker.queueStats('sqs.reports' as ChannelName)?.ready).toBe(before);

    const bob = aws('bob-1').sns;
    expect(await denied(bob.send(new PublishCommand({ TopicArn, Message: 'x' })))).toMatchObject({
      name: 'AuthorizationErrorException',
      message: expect.stringContaining(
        'not authorized to perform: SNS:Publish on resource: arn:aws:sns:kubemq:000000000000:orders',
      ),
    });
    expect((await bob.send(new ListTopicsCommand({}))).Topics ?? []).toEqual([]);
  });
});

describe('Pub/Sub', () => {
  const clients: { close(): Promise<unknown> }[] = [];
  afterAll(async () => {
    for (const client of clients) await client.close();
  });
  const options = (bearer?: string) => {
    const own = bearer === undefined ? {} : { otherArgs: { headers: { authorization: `Bearer ${bearer}` } } };
    return [
      {
        servicePath: '127.0.0.1',
        port: running.address('gcp').port,
        sslCreds: credentials.createInsecure(),
        projectId: 'p',
      },
      own,
    ] as const;
  };
  function pubsub(bearer?: string) {
    const [raw, own] = options(bearer);
    const publisher = new v1.PublisherClient(raw);
    const subscriber = new v1.SubscriberClient(raw);
    clients.push(publisher, subscriber);
    return { publisher, subscriber, call: own };
  }
  const topic = (id: string): string => `projects/p/topics/${id}`;
  const subscription = (id: string): string => `projects/p/subscriptions/${id}`;

  it('a bearer token is needed', async () => {
    const { publisher } = pubsub();
    expect(await denied(publisher.createTopic({ name: topic('orders') }))).toMatchObject({ code: 16 });
    const wrong = pubsub(`${tokens.alice}x`);
    expect(await denied(wrong.publisher.createTopic({ name: topic('orders') }, wrong.call))).toMatchObject({
      code: 16,
    });
  });

  it('its ClientID may do what the rules say, else PERMISSION_DENIED', async () => {
    const { publisher, subscriber, call } = pubsub(tokens.alice);
    await publisher.createTopic({ name: topic('orders') }, call);
    await subscriber.createSubscription({ name: subscription('orders'), topic: topic('orders') }, call);
    await publisher.publish({ topic: topic('orders'), messages: [{ data: Buffer.from('x') }] }, call);
    const [pulled] = await subscriber.pull({ subscription: subscription('orders'), maxMessages: 1 }, call);
    expect(pulled.receivedMessages).toHaveLength(1);

    const root = pubsub(tokens.root);
    await root.publisher.createTopic({ name: topic('reports') }, root.call);
    await root.subscriber.createSubscription(
      { name: subscription('reports'), topic: topic('reports') },
      root.call,
    );
    const refusals = [
      () => publisher.publish({ topic: topic('reports'), messages: [{ data: Buffer.from('x') }] }, call),
      () => publisher.getTopic({ topic: topic('reports') }, call),
      () => subscriber.createSubscription({ name: subscription('orders-2'), topic: topic('reports') }, call),
      () => subscriber.createSubscription({ name: subscription('mine'), topic: topic('orders') }, call),
      () => subscriber.pull({ subscription: subscription('reports'), maxMessages: 1 }, call),
    ];
    for (const refusal of refusals) {
      expect(await denied(refusal())).toMatchObject({
        code: 7,
        details: 'User not authorized to perform this action.',
      });
    }
    const overRest = (bearer: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${running.address('gcp').port}/v1/${topic('orders')}`, {
        headers: { authorization: `Bearer ${bearer}` },
      });
    expect([(await overRest(tokens.alice)).status, (await overRest(tokens.bob)).status]).toEqual([200, 403]);
    const [topics] = await publisher.listTopics({ project: 'projects/p' }, call);
    expect(topics.map(({ name }) => name)).toEqual([topic('orders')]);
  });

  it('a StreamingPull ends with PERMISSION_DENIED when its right goes', async () => {
    const root = pubsub(tokens.root);
    await root.publisher.createTopic({ name: topic('q-reports') }, root.call);
    await root.subscriber.createSubscription(
      { name: subscription('q-reports'), topic: topic('q-reports') },
      root.call,
    );
    const { subscriber } = pubsub(tokens.bob);
    const [, own] = options(tokens.bob);
    const stream = subscriber.streamingPull(own);
    const ended = new Promise<{ readonly code: number }>((resolve) => stream.on('error', resolve as never));
    const opened = new Promise((resolve) => stream.once('data', resolve));
    stream.write({ subscription: subscription('q-reports'), streamAckDeadlineSeconds: 10 });
    await opened;
    writeFileSync(policyFile, JSON.stringify(POLICY.slice(0, 2)));
    running.reload();
    expect(await ended).toMatchObject({ code: 7 });
    writeFileSync(policyFile, JSON.stringify(POLICY));
    running.reload();
  });
});

describe('AMQP', () => {
  const connections: ChannelModel[] = [];
  afterAll(async () => {
    for (const connection of connections) await connection.close();
  });
  async function amqp(password: string): Promise<ChannelModel> {
    const connection = await connect({
      hostname: '127.0.0.1',
      port: running.address('amqp').port,
      username: 'x',
      password,
    });
    connections.push(connection);
    return connection;
  }
  /** How a channel ends. */
  const end = async (connection: ChannelModel, act: (channel: Channel) => unknown): Promise<string> => {
    const channel = await connection.createChannel();
    const closed = new Promise<string>((resolve) =>
      channel.once('error', (error: Error) => resolve(error.message)),
    );
    const acted = Promise.resolve(act(channel)).catch(() => undefined);
    const message = await closed;
    await acted;
    return message;
  };

  it('the token is the password, and its ClientID the user; others are refused at the login', async () => {
    await expect(amqp('guest')).rejects.toThrow(/403|ACCESS[-_]REFUSED|Login was refused|closed/i);
    const connection = await amqp(tokens.alice);
    const channel = await connection.createChannel();
    await channel.assertQueue('orders');
    channel.sendToQueue('orders', Buffer.from('x'));
    await channel.assertQueue('orders');
    const message = await channel.get('orders');
    expect(message && message.content.toString()).toBe('x');
  });

  it("what no rule allows closes the channel with 403 in RabbitMQ's words", async () => {
    const root = await (await amqp(tokens.root)).createChannel();
    await root.assertQueue('reports');
    const alice = await amqp(tokens.alice);
    expect(await end(alice, (channel) => channel.consume('reports', () => undefined))).toContain(
      "ACCESS_REFUSED - access to queue 'reports' in vhost '/' refused for user 'alice'",
    );
    expect(await end(alice, (channel) => channel.assertQueue('mine'))).toContain("access to queue 'mine'");
    const bob = await amqp(tokens.bob);
    expect(await end(bob, (channel) => channel.sendToQueue('reports', Buffer.from('x')))).toContain(
      'ACCESS_REFUSED',
    );
    const reader = await bob.createChannel();
    expect(await reader.get('reports')).toBe(false);
  });
});

describe('the native API', () => {
  const clients: NativeClient[] = [];
  afterAll(() => clients.forEach((client) => client.close()));
  function native(bearer?: string, clientId?: string): NativeClient {
    const address = `127.0.0.1:${running.address('native-grpc').port}`;
    const client = new NativeClient(address, clientId, bearer === undefined ? {} : { token: bearer });
    clients.push(client);
    return client;
  }

  it('everybody may ping; anything else needs a token', async () => {
    await native().call('Ping', {});
    const refusals = [
      () => native().send({ Channel: 'native.orders', Body: Buffer.from('x') }),
      () => native('nonsense').receive('native.orders'),
    ];
    for (const refusal of refusals) {
      expect(await denied(refusal())).toMatchObject({
        code: 16,
        details: 'Error 421: authentication verification failed, ',
      });
    }
  });

  it('the ClientID in the token stands in the place of the one in the request', async () => {
    const client = native(`Bearer ${tokens.alice}`, 'root');
    await client.send({ Channel: 'native.orders', Body: Buffer.from('x') });
    const { Messages } = await client.receive('native.orders');
    expect(Messages[0]?.ClientID).toBe('alice');
    const upstream = client.upstream();
    const answer = await upstream.request({
      Messages: [{ ClientID: 'root', Channel: 'native.orders', Body: Buffer.from('y') }],
    });
    expect(answer.Results).toHaveLength(1);
    const second = await client.receive('native.orders');
    expect(second.Messages[0]?.ClientID).toBe('alice');
  });

  it('refuses with Error 412 where each kind of call reports errors', async () => {
    const text = 'Error 412: access denied to resource';
    const client = native(tokens.alice);
    const send = await client
      .send({ Channel: 'native.reports', Body: Buffer.from('x') })
      .catch((error: unknown) => ({ IsError: true, Error: (error as { details: string }).details }));
    expect(send).toMatchObject({ IsError: true, Error: text });
    expect(
      await denied(client.sendEvent({ Channel: 'native.reports', Store: true, Body: Buffer.from('x') })),
    ).toMatchObject({ code: 7, details: text });
    expect(
      await denied(client.sendEvent({ Channel: 'native.reports', Body: Buffer.from('x') })),
    ).toMatchObject({ code: 7, details: text });
    expect(
      await denied(client.ask({ Channel: 'native.reports', Body: Buffer.from('x'), Timeout: 500 })),
    ).toMatchObject({ code: 7, details: text });
    const downstream = client.downstream();
    expect(await downstream.get('native.reports')).toMatchObject({ IsError: true, Error: text });
  });

  it('is the same over REST', async () => {
    const { port } = running.address('native-rest');
    const send = async (channel: string, authorization?: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}/queue/send`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(authorization === undefined ? {} : { authorization }),
        },
        body: JSON.stringify({ ClientID: 'root', Channel: channel, Body: 'eA==' }),
      });
      return { status: answer.status, body: (await answer.json()) as { message: string; data: unknown } };
    };
    expect(await send('native.orders')).toMatchObject({
      status: 401,
      body: { message: 'Error 421: authentication verification failed, ' },
    });
    const basic = `Basic ${Buffer.from(`anybody:${tokens.alice}`).toString('base64')}`;
    for (const shown of [tokens.alice, `Bearer ${tokens.alice}`, basic]) {
      expect(await send('native.orders', shown)).toMatchObject({ status: 200, body: { message: 'OK' } });
    }
    expect(await send('native.reports', tokens.alice)).toMatchObject({
      body: { data: { IsError: true, Error: 'Error 412: access denied to resource' } },
    });
  });

  it('a message cannot be sent by way of its own dead-letter rule', async () => {
    const client = native(tokens.alice);
    const sent = await client.send({
      Channel: 'native.orders',
      Body: Buffer.from('x'),
      Policy: { MaxReceiveCount: 1, MaxReceiveQueue: 'native.reports' },
    });
    expect(sent.IsError).toBe(true);
  });

  it('an alias gives no right, and takes none', async () => {
    await running.broker.change([
      { do: 'create-queue', channel: 'native.secret' as ChannelName, ifMissing: true },
      {
        do: 'set-alias',
        alias: 'native.orders-alias' as ChannelName,
        channel: 'native.secret' as ChannelName,
      },
    ]);
    const sent = await native(tokens.alice).send({ Channel: 'native.orders-alias', Body: Buffer.from('x') });
    expect(sent).toMatchObject({ IsError: true });
  });
});

describe('the admin API', () => {
  const ask = (path: string, bearer?: string, init: RequestInit = {}): Promise<Response> => {
    const headers = {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      'content-type': 'application/json',
    };
    return fetch(`http://127.0.0.1:${running.address('api').port}${path}`, { ...init, headers });
  };

  it('shows health and figures to everybody, and the rest to who has a token', async () => {
    for (const path of ['/health', '/ready', '/metrics']) expect((await ask(path)).status).toBe(200);
    expect((await ask('/api/v1/queues')).status).toBe(401);
    expect((await ask('/api/v1/queues', tokens.root)).status).toBe(200);
  });

  it('shows and does only what the rules allow', async () => {
    await running.broker.change([
      { do: 'create-queue', channel: 'native.orders' as ChannelName, ifMissing: true },
      { do: 'create-queue', channel: 'native.reports' as ChannelName, ifMissing: true },
    ]);
    const { queues } = (await (await ask('/api/v1/queues', tokens.bob)).json()) as {
      queues: { channel: string }[];
    };
    expect(queues.every(({ channel }) => channel.endsWith('reports'))).toBe(true);
    const purge = { method: 'POST', body: '{}' };
    expect((await ask('/api/v1/queues/native.orders/purge', tokens.bob, purge)).status).toBe(403);
    const alias = {
      method: 'POST',
      body: JSON.stringify({ alias: 'native.x-reports', channel: 'native.reports' }),
    };
    expect((await ask('/api/v1/aliases', tokens.bob, alias)).status).toBe(403);
    expect((await ask('/api/v1/aliases', tokens.root, alias)).status).toBe(201);
  });
});

describe('tokens', () => {
  it.each([
    ['RS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ES384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ])('are verified with a public key (%s), and with no other algorithm', async (algorithm, make) => {
    const { publicKey, privateKey } = make();
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const own = await startServer({
      connectors: ['native'],
      config: {
        authentication: { enable: true, jwtConfig: { key: pem, signatureType: algorithm as 'RS256' } },
      },
    });
    const address = `127.0.0.1:${own.address('native-grpc').port}`;
    const send = async (bearer: string): Promise<unknown> => {
      const client = new NativeClient(address, undefined, { token: bearer });
      try {
        return await client.send({ Channel: 'a', Body: Buffer.from('x') });
      } finally {
        client.close();
      }
    };
    try {
      expect(await send(await token('alice', privateKey, algorithm))).toMatchObject({ IsError: false });
      // The public key as a shared secret: the classic forgery.
      const forged = await token('root', createSecretKey(Buffer.from(pem)), 'HS256');
      expect(await denied(send(forged))).toMatchObject({ code: 16 });
      expect(await denied(send(await token('alice', privateKey, algorithm, '-1m')))).toMatchObject({
        code: 16,
      });
    } finally {
      await own.stop();
    }
  });
});
