import { status } from '@grpc/grpc-js';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { channelName } from '../../../src/core/channel-name.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer, urlOf, useServer } from '../../support/server.js';
import {
  collect,
  connectClients,
  elapse,
  eventually,
  passing,
  settled,
  subscriptionName,
  topicName,
  type Clients,
} from './clients.js';
import { PushEndpoint } from './push-endpoint.js';

describe('push', () => {
  const clock = new ManualClock(Date.now());
  const server = useServer({ clock, connectors: ['gcp'], config: { store: { engine: 'memory' } } });
  let clients: Clients;
  let endpoint: PushEndpoint;
  let url: string;
  let id = 0;
  let topic: string;
  let subscription: string;

  beforeEach(async () => {
    clients = connectClients(server().address('gcp').port);
    endpoint = new PushEndpoint();
    url = await endpoint.start();
    topic = topicName(`push-${++id}`);
    subscription = subscriptionName(`push-${id}`);
    await clients.publisher.createTopic({ name: topic });
  });
  afterEach(async () => {
    await clients.subscriber.deleteSubscription({ subscription }).catch(() => undefined);
    await endpoint.stop();
    await clients.close();
  });

  const subscribe = (pushConfig: object, more: object = {}) =>
    clients.subscriber.createSubscription({
      name: subscription,
      topic,
      pushConfig: { pushEndpoint: url, ...pushConfig },
      ...more,
    });
  const publish = (texts: readonly string[], more: object = {}) =>
    clients.publisher.publish({
      topic,
      messages: texts.map((text) => ({ data: Buffer.from(text), ...more })),
    });
  /** Nothing is left of the subscription: all was acknowledged. */
  const isEmpty = (): boolean => {
    const stats = server().broker.queueStats(channelName(`gcp.sub.push-${id}`));
    return stats?.ready === 0 && stats.inFlight === 0 && stats.delayed === 0;
  };

  it('posts each message, wrapped', async () => {
    await subscribe({});
    const [{ messageIds }] = await publish(['one'], { attributes: { a: 'b' } });
    await eventually(() => endpoint.requests.length === 1);
    const [request] = endpoint.requests;
    expect(request?.json).toMatchObject({
      message: {
        data: 'b25l',
        attributes: { a: 'b' },
        messageId: messageIds?.[0],
        message_id: messageIds?.[0],
      },
      subscription,
    });
    expect(request?.headers).not.toHaveProperty('authorization');
    await eventually(isEmpty);
  });

  it.each([102, 200, 201, 202, 204])('takes %i for an acknowledgement', async (code) => {
    endpoint.answer = () => code;
    await subscribe({});
    await publish(['x']);
    await eventually(() => endpoint.requests.length > 0 && isEmpty());
    expect(endpoint.requests).toHaveLength(1);
  });

  it('tries again after every other status, and when nobody answers', async () => {
    const codes = [500, 404, 203, 302, 204];
    endpoint.answer = (_, index) => codes[index] ?? 204;
    await subscribe({});
    await publish(['again']);
    await passing(clock, () => endpoint.requests.length === codes.length);
    expect(endpoint.requests.map(({ text }) => text)).toEqual(codes.map(() => 'again'));
    await eventually(isEmpty);
  });

  it('backs off while an endpoint fails', async () => {
    const times: number[] = [];
    endpoint.answer = () => {
      times.push(clock.now());
      return times.length < 5 ? 500 : 204;
    };
    await subscribe({});
    await publish(['slow']);
    await passing(clock, () => times.length === 5);
    const pauses = times.slice(1).map((time, i) => time - times[i]!);
    // 100, 200, 400 and 800 ms; time may pass while a request is on its way.
    for (const [i, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(100 * 2 ** i);
  });

  it('opens its window step by step', async () => {
    let held: ((status: number) => void)[] = [];
    endpoint.answer = () => new Promise((resolve) => held.push(resolve));
    await subscribe({});
    await publish(Array.from({ length: 60 }, (_, i) => String(i)));
    for (const open of [3, 6, 12]) {
      await eventually(() => held.length === open);
      await settled(clients);
      expect(held).toHaveLength(open);
      const answers = held;
      held = [];
      for (const answer of answers) answer(204);
    }
    endpoint.answer = () => 204;
    await eventually(() => {
      for (const answer of held.splice(0)) answer(204);
      return endpoint.requests.length === 60;
    });
    expect(new Set(endpoint.requests.map(({ text }) => text)).size).toBe(60);
  });

  it('keeps the order of a key, failures in between', async () => {
    endpoint.answer = (_, index) => (index % 3 === 1 ? 500 : 204);
    await subscribe({}, { enableMessageOrdering: true });
    const texts = Array.from({ length: 6 }, (_, i) => String(i));
    await publish(texts, { orderingKey: 'k' });
    await passing(clock, () => endpoint.requests.at(-1)?.text === '5' && endpoint.open === 0);
    const seen = endpoint.requests.map(({ text }) => Number(text));
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(new Set(seen).size).toBe(6);
    expect(endpoint.openMost).toBe(1);
    expect(endpoint.requests[0]?.json.message.orderingKey).toBe('k');
  });

  it('sends the bare data when it is not to be wrapped', async () => {
    await subscribe({ noWrapper: { writeMetadata: true } });
    const [{ messageIds }] = await publish(['bare'], { attributes: { own: 'x' } });
    await eventually(() => endpoint.requests.length === 1);
    expect(endpoint.requests[0]?.body.toString()).toBe('bare');
    expect(endpoint.requests[0]?.headers).toMatchObject({
      own: 'x',
      'x-goog-pubsub-message-id': messageIds?.[0],
      'x-goog-pubsub-subscription-name': subscription,
    });
  });

  it('shows a token that the published keys verify', async () => {
    const serviceAccountEmail = 'push@example.com';
    await subscribe({ oidcToken: { serviceAccountEmail } });
    await publish(['signed']);
    await eventually(() => endpoint.requests.length === 1);
    const token = endpoint.requests[0]?.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const base = urlOf(server(), 'gcp');
    const discovery = (await (await fetch(`${base}/.well-known/openid-configuration`)).json()) as {
      jwks_uri: string;
      issuer: string;
    };
    const keys = createRemoteJWKSet(new URL(discovery.jwks_uri));
    const { payload } = await jwtVerify(token, keys, { audience: url, issuer: discovery.issuer });
    expect(payload).toMatchObject({ email: serviceAccountEmail, email_verified: true });
    expect(payload.exp! - payload.iat!).toBe(3600);
    const { keys: published } = (await (await fetch(discovery.jwks_uri)).json()) as { keys: object[] };
    expect(published.every((key) => !('d' in key))).toBe(true);
  });

  it('counts its attempts, and gives up to the dead-letter topic', async () => {
    endpoint.answer = () => 500;
    const letters = topicName(`push-${id}-dead`);
    await clients.publisher.createTopic({ name: letters });
    await clients.subscriber.createSubscription({
      name: subscriptionName(`push-${id}-dead`),
      topic: letters,
    });
    await subscribe({}, { deadLetterPolicy: { deadLetterTopic: letters, maxDeliveryAttempts: 5 } });
    await publish(['hopeless']);
    const collected = collect(clients.pubsub.subscription(`push-${id}-dead`), 1);
    await passing(clock, () => endpoint.requests.length === 5);
    const [letter] = await collected;
    expect(String(letter?.data)).toBe('hopeless');
    expect(endpoint.requests.map(({ json }) => json.deliveryAttempt)).toEqual([1, 2, 3, 4, 5]);
    await clients.pubsub.subscription(`push-${id}-dead`).close();
    expect(isEmpty()).toBe(true);
  });

  it.each([
    ['is deleted', () => clients.subscriber.deleteSubscription({ subscription })],
    ['is detached', () => clients.publisher.detachSubscription({ subscription })],
    ['is pulled from', () => clients.subscriber.modifyPushConfig({ subscription, pushConfig: {} })],
  ])('ends its retries when the subscription %s (floci-gcp#193)', async (_, change) => {
    endpoint.answer = () => 500;
    await subscribe({});
    await publish(['hopeless']);
    await passing(clock, () => endpoint.requests.length === 3);
    await change();
    await settled(clients);
    const tried = endpoint.requests.length;
    await elapse(clients, clock, 120_000);
    expect(endpoint.requests).toHaveLength(tried);
  });

  it('is switched on and off', async () => {
    await clients.subscriber.createSubscription({ name: subscription, topic });
    await publish(['pulled']);
    const pull = { subscription, maxMessages: 10, returnImmediately: true };
    const [{ receivedMessages }] = await clients.subscriber.pull(pull);
    const ackIds = (receivedMessages ?? []).map(({ ackId }) => ackId ?? '');
    expect(ackIds).toHaveLength(1);
    await clients.subscriber.modifyAckDeadline({ subscription, ackIds, ackDeadlineSeconds: 0 });
    await clients.subscriber.modifyPushConfig({ subscription, pushConfig: { pushEndpoint: url } });
    await eventually(() => endpoint.requests.length === 1);
    await expect(clients.subscriber.pull(pull)).rejects.toMatchObject({ code: status.FAILED_PRECONDITION });
    await clients.subscriber.modifyPushConfig({ subscription, pushConfig: {} });
    await publish(['kept']);
    const [{ receivedMessages: later }] = await clients.subscriber.pull({
      ...pull,
      returnImmediately: false,
    });
    expect(String(later?.[0]?.message?.data)).toBe('kept');
    expect(endpoint.requests).toHaveLength(1);
    await expect(
      clients.subscriber.modifyPushConfig({
        subscription,
        pushConfig: { pushEndpoint: 'http://example.com' },
      }),
    ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });
});

it('a restart loses no message that is on its way to an endpoint', async () => {
  const folder = temporaryFolder();
  const endpoint = new PushEndpoint();
  const url = await endpoint.start();
  const [topic, subscription] = [topicName('kept'), subscriptionName('kept')];
  // The first three get no answer before the server goes.
  endpoint.answer = () => new Promise(() => undefined);
  const first = await startServer({
    connectors: ['gcp'],
    folder: folder.path,
    config: { shutdown: { graceMs: 100 } },
  });
  const before = connectClients(first.address('gcp').port);
  await before.publisher.createTopic({ name: topic });
  await before.subscriber.createSubscription({
    name: subscription,
    topic,
    pushConfig: { pushEndpoint: url },
  });
  const texts = Array.from({ length: 10 }, (_, i) => String(i));
  await before.publisher.publish({ topic, messages: texts.map((text) => ({ data: Buffer.from(text) })) });
  await eventually(() => endpoint.requests.length === 3);
  await before.close();
  await first.stop();
  endpoint.requests.length = 0;
  endpoint.answer = () => 204;
  const second = await startServer({ connectors: ['gcp'], folder: folder.path });
  await eventually(() => endpoint.requests.length === 10);
  expect(endpoint.requests.map(({ text }) => text).toSorted()).toEqual(texts);
  await second.stop();
  await endpoint.stop();
  folder.remove();
});
