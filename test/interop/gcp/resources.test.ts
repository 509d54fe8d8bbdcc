import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { status } from '@grpc/grpc-js';
import { useServer } from '../../support/server.js';
import { connectClients, PROJECT, subscriptionName, topicName, type Clients } from './clients.js';

const server = useServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
let clients: Clients;

beforeAll(() => {
  clients = connectClients(server().address('gcp').port);
});
afterAll(() => clients.close());

const code = (expected: status): Error => expect.objectContaining({ code: expected });

describe('topics', () => {
  it('are created, read, listed and deleted', async () => {
    const { pubsub } = clients;
    const [topic] = await pubsub.createTopic('orders');
    expect(topic.name).toBe(topicName('orders'));
    const [metadata] = await topic.getMetadata();
    expect(metadata).toMatchObject({ name: topicName('orders'), state: 'ACTIVE' });
    const [topics] = await pubsub.getTopics();
    expect(topics.map(({ name }) => name)).toContain(topicName('orders'));
    expect(server().broker.logs('gcp.')).toContain('gcp.orders');

    await expect(pubsub.createTopic('orders')).rejects.toMatchObject({
      code: status.ALREADY_EXISTS,
      details: 'Resource already exists in the project (resource=orders).',
    });
    await topic.delete();
    await expect(topic.getMetadata()).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: 'Resource not found (resource=orders).',
    });
    await expect(topic.delete()).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it('created by many at once are created once', async () => {
    const create = () => clients.publisher.createTopic({ name: topicName('raced') });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, create));
    const refused = outcomes.filter(({ status: outcome }) => outcome === 'rejected');
    expect(refused).toHaveLength(7);
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: status.ALREADY_EXISTS } });
  });

  it('keep labels and retention; ids are global, whatever the project', async () => {
    const { publisher } = clients;
    const request = {
      name: topicName('kept'),
      labels: { team: 'a' },
      messageRetentionDuration: { seconds: 3600 },
    };
    await publisher.createTopic(request);
    const [topic] = await publisher.getTopic({ topic: 'projects/other/topics/kept' });
    expect(topic).toMatchObject({
      name: 'projects/other/topics/kept',
      labels: { team: 'a' },
      messageRetentionDuration: { seconds: '3600' },
    });
    await expect(publisher.createTopic({ name: 'projects/other/topics/kept' })).rejects.toEqual(
      code(status.ALREADY_EXISTS),
    );
  });

  it('are listed in pages', async () => {
    const { publisher } = clients;
    const ids = Array.from({ length: 7 }, (_, i) => `page-${i}`);
    await Promise.all(ids.map((id) => publisher.createTopic({ name: topicName(id) })));
    const seen: string[] = [];
    for await (const { name } of publisher.listTopicsAsync({ project: `projects/${PROJECT}`, pageSize: 2 })) {
      seen.push(name ?? '');
    }
    expect(seen.filter((name) => name.includes('page-'))).toEqual(ids.map(topicName));
    await expect(
      publisher.listTopics({ project: `projects/${PROJECT}`, pageToken: '?' }, { autoPaginate: false }),
    ).rejects.toEqual(code(status.INVALID_ARGUMENT));
  });

  it.each([
    ['a short id', { name: topicName('ab') }],
    ['an id that begins with goog', { name: topicName('goog-x') }],
    ['the reserved prefix', { name: topicName('sub.x') }],
    ['no path', { name: 'orders' }],
    [
      'a retention below 10 minutes',
      { name: topicName('short'), messageRetentionDuration: { seconds: 300 } },
    ],
    [
      'a retention above 31 days',
      { name: topicName('long'), messageRetentionDuration: { seconds: 32 * 86400 } },
    ],
  ])('with %s are refused', async (_, request) => {
    await expect(clients.publisher.createTopic(request)).rejects.toEqual(code(status.INVALID_ARGUMENT));
  });

  it('with settings this server does not have are refused', async () => {
    const ingestionDataSourceSettings = { awsKinesis: { streamArn: 'x' } };
    await expect(
      clients.publisher.createTopic({ name: topicName('ingesting'), ingestionDataSourceSettings }),
    ).rejects.toEqual(code(status.INVALID_ARGUMENT));
  });
});

describe('subscriptions', () => {
  it('are created with defaults, read, listed and deleted', async () => {
    const { pubsub } = clients;
    const [topic] = await pubsub.createTopic('with-subs');
    const [subscription] = await topic.createSubscription('sub-1');
    const [metadata] = await subscription.getMetadata();
    expect(metadata).toMatchObject({
      name: subscriptionName('sub-1'),
      topic: topicName('with-subs'),
      ackDeadlineSeconds: 10,
      messageRetentionDuration: { seconds: '604800' },
      expirationPolicy: { ttl: { seconds: String(31 * 86400) } },
      pushConfig: { pushEndpoint: '' },
      state: 'ACTIVE',
    });
    const [all] = await pubsub.getSubscriptions();
    expect(all.map(({ name }) => name)).toContain(subscriptionName('sub-1'));
    expect(server().broker.queues('gcp.sub.')).toContain('gcp.sub.sub-1');
    await expect(topic.createSubscription('sub-1')).rejects.toMatchObject({ code: status.ALREADY_EXISTS });

    await subscription.delete();
    expect(server().broker.queues('gcp.sub.sub-1')).toEqual([]);
    await expect(subscription.getMetadata()).rejects.toMatchObject({ code: status.NOT_FOUND });
    await expect(subscription.delete()).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it('without a name get one', async () => {
    await clients.pubsub.createTopic('for-unnamed');
    const [created] = await clients.subscriber.createSubscription({
      name: '',
      topic: topicName('for-unnamed'),
    });
    expect(created.name).toMatch(/^projects\/test-project\/subscriptions\/for-unnamed-[0-9a-f-]{36}$/);
  });

  it('of a deleted topic stay, with their backlog, and are not adopted by a new one', async () => {
    const { pubsub, subscriber } = clients;
    const [topic] = await pubsub.createTopic('doomed');
    const [subscription] = await topic.createSubscription('orphan');
    await topic.publishMessage({ data: Buffer.from('before') });
    await topic.delete();
    const [metadata] = await subscription.getMetadata();
    expect(metadata.topic).toBe('_deleted-topic_');

    const [again] = await pubsub.createTopic('doomed');
    await again.publishMessage({ data: Buffer.from('after') });
    const pull = { subscription: subscriptionName('orphan'), maxMessages: 10, returnImmediately: true };
    const [first] = await subscriber.pull(pull);
    expect(first.receivedMessages?.map(({ message }) => String(message?.data))).toEqual(['before']);
    const [second] = await subscriber.pull(pull);
    expect(second.receivedMessages).toEqual([]);
  });

  it('on a missing topic are refused', async () => {
    const request = { name: subscriptionName('nowhere'), topic: topicName('nowhere') };
    await expect(clients.subscriber.createSubscription(request)).rejects.toEqual(code(status.NOT_FOUND));
  });

  const good = { name: subscriptionName('never'), topic: topicName('orders-2') };
  it.each([
    ['a reserved infix', { ...good, name: subscriptionName('a.k.b') }],
    ['the other reserved infix', { ...good, name: subscriptionName('a.h.b') }],
    ['an ack deadline of 9', { ...good, ackDeadlineSeconds: 9 }],
    ['an ack deadline of 601', { ...good, ackDeadlineSeconds: 601 }],
    ['a negative ack deadline', { ...good, ackDeadlineSeconds: -1 }],
    ['a retention of 5 minutes', { ...good, messageRetentionDuration: { seconds: 300 } }],
    ['a ttl of an hour', { ...good, expirationPolicy: { ttl: { seconds: 3600 } } }],
    ['a filter nobody can read', { ...good, filter: 'attributes.x = ' }],
    ['a topic that is no name', { ...good, topic: 'orders' }],
  ])('with %s are refused', async (_, request) => {
    await expect(clients.subscriber.createSubscription(request)).rejects.toEqual(
      code(status.INVALID_ARGUMENT),
    );
  });
});
