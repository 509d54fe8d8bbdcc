import { credentials } from '@grpc/grpc-js';
import { v1 } from '@google-cloud/pubsub';
import { afterAll, describe, expect, it } from 'vitest';
import { denied, POLICY, useSecuredServer } from './secured-server.js';

const server = useSecuredServer();

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
        port: server().running.address('gcp').port,
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
    const wrong = pubsub(`${server().tokens.alice}x`);
    expect(await denied(wrong.publisher.createTopic({ name: topic('orders') }, wrong.call))).toMatchObject({
      code: 16,
    });
  });

  it('its ClientID may do what the rules say, else PERMISSION_DENIED', async () => {
    const { publisher, subscriber, call } = pubsub(server().tokens.alice);
    await publisher.createTopic({ name: topic('orders') }, call);
    await subscriber.createSubscription({ name: subscription('orders'), topic: topic('orders') }, call);
    await publisher.publish({ topic: topic('orders'), messages: [{ data: Buffer.from('x') }] }, call);
    const [pulled] = await subscriber.pull({ subscription: subscription('orders'), maxMessages: 1 }, call);
    expect(pulled.receivedMessages).toHaveLength(1);

    const root = pubsub(server().tokens.root);
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
      fetch(`http://127.0.0.1:${server().running.address('gcp').port}/v1/${topic('orders')}`, {
        headers: { authorization: `Bearer ${bearer}` },
      });
    expect([
      (await overRest(server().tokens.alice)).status,
      (await overRest(server().tokens.bob)).status,
    ]).toEqual([200, 403]);
    const [topics] = await publisher.listTopics({ project: 'projects/p' }, call);
    expect(topics.map(({ name }) => name)).toEqual([topic('orders')]);
  });

  it('a StreamingPull ends with PERMISSION_DENIED when its right goes', async () => {
    const root = pubsub(server().tokens.root);
    await root.publisher.createTopic({ name: topic('q-reports') }, root.call);
    await root.subscriber.createSubscription(
      { name: subscription('q-reports'), topic: topic('q-reports') },
      root.call,
    );
    const { subscriber } = pubsub(server().tokens.bob);
    const [, own] = options(server().tokens.bob);
    const stream = subscriber.streamingPull(own);
    const ended = new Promise<{ readonly code: number }>((resolve) => stream.on('error', resolve as never));
    const opened = new Promise((resolve) => stream.once('data', resolve));
    stream.write({ subscription: subscription('q-reports'), streamAckDeadlineSeconds: 10 });
    await opened;
    server().replacePolicy(POLICY.slice(0, 2));
    expect(await ended).toMatchObject({ code: 7 });
    server().replacePolicy(POLICY);
  });
});
