import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, status, type ClientUnaryCall } from '@grpc/grpc-js';
import { connect } from 'node:net';
import { once } from 'node:events';
import { ManualClock } from '../../../src/base/clock.js';
import { channelName } from '../../../src/core/channel-name.js';
import { PullRequestSchema } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { useServer } from '../../support/server.js';
import { collect, connectClients, subscriptionName, topicName, type Clients, eventually } from './clients.js';

const clock = new ManualClock(Date.now());
const server = useServer({ clock, connectors: ['gcp'], config: { store: { engine: 'memory' } } });
let clients: Clients;

beforeAll(() => {
  clients = connectClients(server().address('gcp').port);
});
afterAll(() => clients.close());

/** Makes a topic and a subscription of the same id. */
async function pair(id: string, options: Record<string, unknown> = {}): Promise<void> {
  await clients.publisher.createTopic({ name: topicName(id) });
  await clients.subscriber.createSubscription({
    name: subscriptionName(id),
    topic: topicName(id),
    ...options,
  });
}

const texts = (n: number): string[] => Array.from({ length: n }, (_, i) => `m${i}`);
const publish = (id: string, messages: object[]) =>
  clients.publisher.publish({ topic: topicName(id), messages });
async function pull(id: string, maxMessages = 1000, returnImmediately = true) {
  const [{ receivedMessages }] = await clients.subscriber.pull({
    subscription: subscriptionName(id),
    maxMessages,
    returnImmediately,
  });
  return receivedMessages ?? [];
}
const ackIdsOf = (received: Awaited<ReturnType<typeof pull>>): string[] =>
  received.map(({ ackId }) => ackId ?? '');
const acknowledge = (id: string, ackIds: string[]) =>
  clients.subscriber.acknowledge({ subscription: subscriptionName(id), ackIds });
const modify = (id: string, ackIds: string[], ackDeadlineSeconds: number) =>
  clients.subscriber.modifyAckDeadline({ subscription: subscriptionName(id), ackIds, ackDeadlineSeconds });

describe('publish', () => {
  it('and a streaming subscriber: every field arrives, once', async () => {
    const { pubsub } = clients;
    const [topic] = await pubsub.createTopic('fields');
    const [subscription] = await topic.createSubscription('fields');
    const received = collect(subscription, 20);
    const ids = await Promise.all(
      texts(20).map((text, i) =>
        topic.publishMessage({ data: Buffer.from(text), attributes: { n: String(i), ключ: 'ü "q"' } }),
      ),
    );
    const messages = await received;
    expect(new Set(ids).size).toBe(20);
    expect(ids.every((id) => /^\d{17}$/.test(id))).toBe(true);
    const byId = new Map(messages.map((message) => [message.id, message]));
    ids.forEach((id, i) => {
      const message = byId.get(id);
      expect(message?.data.toString()).toBe(`m${i}`);
      expect(message?.attributes).toEqual({ n: String(i), ключ: 'ü "q"' });
      expect(message?.publishTime.getTime()).toBe(clock.now());
      expect(message?.deliveryAttempt).toBe(0);
    });
    await subscription.close();
    expect(await pull('fields')).toEqual([]);
  });

  it('in batches keeps the order of ids and messages', async () => {
    await pair('batches');
    const [{ messageIds }] = await publish(
      'batches',
      texts(1000).map((text) => ({ data: Buffer.from(text) })),
    );
    expect(messageIds).toEqual([...(messageIds ?? [])].sort());
    const received = await pull('batches');
    expect(received.map(({ message }) => String(message?.data))).toEqual(texts(1000));
    expect(received.map(({ message }) => message?.messageId)).toEqual(messageIds);
  });

  it('reaches every subscription, from its creation on', async () => {
    await pair('fan-0');
    const later = (name: string) =>
      clients.subscriber.createSubscription({ name: subscriptionName(name), topic: topicName('fan-0') });
    await later('fan-1');
    await publish('fan-0', [{ data: Buffer.from('a') }]);
    await later('fan-2');
    await publish('fan-0', [{ data: Buffer.from('b') }]);
    for (const [id, expected] of [
      ['fan-0', ['a', 'b']],
      ['fan-1', ['a', 'b']],
      ['fan-2', ['b']],
    ] as const) {
      expect((await pull(id)).map(({ message }) => String(message?.data))).toEqual(expected);
    }
  });

  it('keeps what does not match a filter away', async () => {
    await pair('filtered', { filter: 'attributes.kind = "b" AND NOT attributes:skip' });
    await publish('filtered', [
      { data: Buffer.from('1'), attributes: { kind: 'a' } },
      { data: Buffer.from('2'), attributes: { kind: 'b' } },
      { data: Buffer.from('3'), attributes: { kind: 'b', skip: '' } },
      { data: Buffer.from('4') },
    ]);
    expect((await pull('filtered')).map(({ message }) => String(message?.data))).toEqual(['2']);
  });

  it('of attributes alone, or of any bytes, is exact', async () => {
    await pair('bytes');
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await publish('bytes', [{ attributes: { only: '' } }, { data: bytes }]);
    const [first, second] = await pull('bytes');
    expect(first?.message).toMatchObject({ attributes: { only: '' } });
    expect(first?.message?.data).toHaveLength(0);
    expect(second?.message?.data).toEqual(bytes);
  });

  const data = Buffer.from('x');
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${i}`, '']));
  it.each([
    ['no message', []],
    ['an empty message', [{ data }, {}]],
    ['1001 messages', Array.from({ length: 1001 }, () => ({ data }))],
    ['101 attributes', [{ data }, { data, attributes: many }]],
    ['an empty key', [{ data, attributes: { '': 'x' } }]],
    ['a key of 257 bytes', [{ data, attributes: { ['k'.repeat(257)]: '' } }]],
    ['a value of 1025 bytes', [{ data, attributes: { k: 'v'.repeat(1025) } }]],
    ['a reserved key', [{ data }, { data, attributes: { 'goog-x': '' } }]],
    ['an ordering key of 1025 bytes', [{ data, orderingKey: 'k'.repeat(1025) }]],
    [
      'two ordering keys',
      [
        { data, orderingKey: 'a' },
        { data, orderingKey: 'b' },
      ],
    ],
    ['more than 10 MiB', [{ data: Buffer.alloc(10 * 1024 * 1024) }]],
    ['12 MB in two', [{ data: Buffer.alloc(6_000_000) }, { data: Buffer.alloc(6_000_000) }]],
  ])('of %s is refused whole', async (what, messages) => {
    const id = `refused-${what.replaceAll(/[^a-z0-9]/g, '-')}`;
    await pair(id);
    await expect(publish(id, messages)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await pull(id)).toEqual([]);
  });

  it('of what is just allowed is not', async () => {
    await pair('allowed');
    const attributes = Object.fromEntries(
      Array.from({ length: 99 }, (_, i) => [
        `${String(i)}${'k'.repeat(254)}`.slice(0, 256),
        'v'.repeat(1024),
      ]),
    );
    await publish('allowed', [
      { data, attributes: { ...attributes, googclient_traceparent: '00-1' }, orderingKey: 'k'.repeat(1024) },
    ]);
    await publish('allowed', [{ data: Buffer.alloc(9_000_000, 7) }]);
    const [first, second] = [...(await pull('allowed', 1)), ...(await pull('allowed', 1))];
    expect(Object.keys(first?.message?.attributes ?? {})).toHaveLength(100);
    expect(second?.message?.data).toHaveLength(9_000_000);
  });

  it('to a missing topic is NOT_FOUND', async () => {
    await expect(publish('missing', [{ data }])).rejects.toMatchObject({ code: status.NOT_FOUND });
  });
});

describe('pull', () => {
  it('and acknowledge: acknowledged messages are gone, others come back', async () => {
    await pair('acks');
    await publish(
      'acks',
      texts(3).map((text) => ({ data: Buffer.from(text) })),
    );
    const received = await pull('acks');
    expect(received).toHaveLength(3);
    const [a, b, c] = ackIdsOf(received) as [string, string, string];
    await acknowledge('acks', [a]);
    await acknowledge('acks', [a]);
    await modify('acks', [b, c], 0);
    const again = await pull('acks');
    expect(again.map(({ message }) => String(message?.data))).toEqual(['m1', 'm2']);
    expect(ackIdsOf(again)).not.toEqual([b, c]);
    await acknowledge('acks', [b]);
    await modify('acks', ackIdsOf(again), 0);
    expect(await pull('acks')).toHaveLength(2);
  });

  it('waits for a message, and not for ever', async () => {
    await pair('waits');
    const waiting = pull('waits', 10, false);
    const queue = channelName('gcp.sub.waits');
    await eventually(() => server().broker.queueStats(queue)?.waiters === 1);
    await publish('waits', [{ data: Buffer.from('late') }]);
    expect((await waiting).map(({ message }) => String(message?.data))).toEqual(['late']);
    const empty = pull('waits', 10, false);
    await eventually(() => server().broker.queueStats(queue)?.waiters === 1);
    clock.advance(4000);
    expect(await empty).toEqual([]);
  });

  it('that the client gave up leases nothing', async () => {
    await pair('given-up');
    const request = toBinary(
      PullRequestSchema,
      create(PullRequestSchema, { subscription: subscriptionName('given-up'), maxMessages: 10 }),
    );
    const client = new Client(`127.0.0.1:${server().address('gcp').port}`, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    const path = '/google.pubsub.v1.Subscriber/Pull';
    let call: ClientUnaryCall | undefined;
    const failed = new Promise((resolve) => {
      call = client.makeUnaryRequest(path, same, same, Buffer.from(request), resolve);
    });
    const waiters = () => server().broker.queueStats(channelName('gcp.sub.given-up'))?.waiters;
    await eventually(() => waiters() === 1);
    call?.cancel();
    expect(await failed).toMatchObject({ code: status.CANCELLED });
    client.close();
    await eventually(() => waiters() === 0);
    await publish('given-up', [{ data: Buffer.from('x') }]);
    expect(await pull('given-up')).toHaveLength(1);
  });

  it('answers bad requests', async () => {
    await pair('bad-pulls');
    await expect(pull('bad-pulls', 0)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'You have passed an invalid argument to the service (argument=max_messages).',
    });
    await expect(pull('missing')).rejects.toMatchObject({ code: status.NOT_FOUND });
    await expect(acknowledge('bad-pulls', [])).rejects.toMatchObject({
      details: 'You have not specified an ack ID in the request.',
    });
    await expect(acknowledge('bad-pulls', ['garbage'])).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'You have passed an invalid ack ID to the service (ack_id=garbage).',
    });
    await expect(modify('bad-pulls', ['garbage'], 601)).rejects.toMatchObject({
      details:
        'Invalid ack deadline given (ack_deadline=601). The ack deadline must be between 0 and 600 seconds.',
    });
  });

  it('takes ack ids of its own subscription only', async () => {
    await pair('own-a');
    await pair('own-b');
    await publish('own-a', [{ data: Buffer.from('x') }]);
    const ids = ackIdsOf(await pull('own-a'));
    await expect(acknowledge('own-b', ids)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    // Nor those of a former subscription of the same name.
    await clients.subscriber.deleteSubscription({ subscription: subscriptionName('own-a') });
    await clients.subscriber.createSubscription({
      name: subscriptionName('own-a'),
      topic: topicName('own-a'),
    });
    await expect(acknowledge('own-a', ids)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });
});

describe('ordering keys', () => {
  it('are kept in order, one at a time, through nacks', async () => {
    await pair('ordered', { enableMessageOrdering: true });
    const keys = ['a', 'b/1', 'x'.repeat(500), ''];
    for (const orderingKey of keys) {
      await publish(
        'ordered',
        texts(5).map((text) => ({ data: Buffer.from(text), orderingKey })),
      );
    }
    const seen = new Map<string, string[]>(keys.map((key) => [key, []]));
    let nacked = false;
    for (let left = 20; left > 0;) {
      const received = await pull('ordered');
      const keyed = received.map(({ message }) => message?.orderingKey ?? '').filter((key) => key !== '');
      expect(new Set(keyed).size).toBe(keyed.length);
      for (const { message, ackId } of received) {
        const key = message?.orderingKey ?? '';
        if (!nacked && key === 'a' && String(message?.data) === 'm2') {
          nacked = true;
          await modify('ordered', [ackId ?? ''], 0);
          continue;
        }
        seen.get(key)?.push(String(message?.data));
        await acknowledge('ordered', [ackId ?? '']);
        left--;
      }
    }
    for (const key of keys) expect(seen.get(key)).toEqual(texts(5));
    expect(nacked).toBe(true);
  });

  it('reach a streaming subscriber in order', async () => {
    const { pubsub } = clients;
    const [topic] = await pubsub.createTopic('ordered-stream');
    const [subscription] = await topic.createSubscription('ordered-stream', { enableMessageOrdering: true });
    const ordered = pubsub.topic('ordered-stream', { messageOrdering: true });
    const received = collect(subscription, 60);
    for (const text of texts(20)) {
      for (const orderingKey of ['a', 'b', 'c'])
        void ordered.publishMessage({ data: Buffer.from(text), orderingKey });
    }
    const messages = await received;
    for (const key of ['a', 'b', 'c']) {
      const own = messages.filter((message) => message.orderingKey === key);
      expect(own.map((message) => message.data.toString())).toEqual(texts(20));
    }
    await subscription.close();
  });
});

describe('other protocols', () => {
  it('see what was published, with three reserved tags', async () => {
    await pair('natives');
    const [{ messageIds }] = await publish('natives', [
      { data: Buffer.from('x'), attributes: { a: 'b', _pubsub_message_id: 'forged' }, orderingKey: 'k' },
    ]);
    const [event] = await server().broker.readLog({
      channel: channelName('gcp.natives'),
      fromSequence: 1,
      max: 10,
    });
    expect(Buffer.from(event?.message.body ?? []).toString()).toBe('x');
    expect(event?.message.id).toBe(messageIds?.[0]);
    const tags = Object.fromEntries(event?.message.tags ?? []);
    expect(tags).toMatchObject({ a: 'b', _pubsub_message_id: messageIds?.[0], _pubsub_ordering_key: 'k' });
    expect(Date.parse(tags['_pubsub_publish_time'] ?? '')).toBe(clock.now());
    const [received] = await pull('natives');
    expect(received?.message?.attributes).toEqual({ a: 'b' });
    expect(received?.message?.orderingKey).toBe('k');
  });

  it('reach the subscriptions by appending to the log', async () => {
    await pair('appended', { enableMessageOrdering: true, filter: 'attributes:wanted' });
    const channel = channelName('gcp.appended');
    const event = (text: string, tags: [string, string][]) => ({
      channel,
      body: Buffer.from(text),
      tags: new Map(tags),
    });
    await server().broker.append([
      event('plain', [['wanted', 'yes']]),
      event('not wanted', []),
      event('keyed', [
        ['wanted', 'yes'],
        ['_pubsub_ordering_key', 'k'],
      ]),
    ]);
    const received = await pull('appended');
    expect(received.map(({ message }) => String(message?.data)).sort()).toEqual(['keyed', 'plain']);
    const plain = received.find(({ message }) => String(message?.data) === 'plain')?.message;
    expect(plain?.attributes).toEqual({ wanted: 'yes' });
    expect(plain?.messageId).not.toBe('');
    expect(Number(plain?.publishTime?.seconds)).toBe(Math.floor(clock.now() / 1000));
    const keyed = received.find(({ message }) => String(message?.data) === 'keyed')?.message;
    expect(keyed?.orderingKey).toBe('k');
  });

  it('share a queue by an alias, which outlives the subscription', async () => {
    const { broker } = server();
    const [real, alias] = [channelName('amqp.default.jobs'), channelName('gcp.sub.aliased')];
    await broker.change([
      { do: 'create-queue', channel: real },
      { do: 'set-alias', alias, channel: real },
    ]);
    await pair('aliased', { enableMessageOrdering: true });
    await publish('aliased', [{ data: Buffer.from('from Pub/Sub'), orderingKey: 'k' }]);
    await broker.send([{ channel: real, body: Buffer.from('from elsewhere'), tags: new Map([['h', '1']]) }]);
    const received = await pull('aliased');
    expect(received.map(({ message }) => String(message?.data))).toEqual(['from Pub/Sub', 'from elsewhere']);
    expect(received[1]?.message?.attributes).toEqual({ h: '1' });
    await acknowledge('aliased', ackIdsOf(received));
    expect(broker.queueStats(real)).toMatchObject({ ready: 0, inFlight: 0 });
    await clients.subscriber.deleteSubscription({ subscription: subscriptionName('aliased') });
    expect(broker.queues('amqp.default.')).toContain(real);
  });
});

describe('garbage on the port', () => {
  it('ends its own connection only', async () => {
    const { port } = server().address('gcp');
    for (const bytes of [
      Buffer.alloc(64, 0xff),
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff', 'latin1'),
    ]) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.end(bytes);
      socket.resume();
      await once(socket, 'close');
    }
    await pair('after-garbage');
  });
});
