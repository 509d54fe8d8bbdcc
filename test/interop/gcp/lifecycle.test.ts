import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer } from '../../support/server.js';
import { connectClients, elapse, eventually, subscriptionName, topicName } from './clients.js';

describe('a restart', () => {
  it('keeps topics, subscriptions, backlog and open leases', async () => {
    const folder = temporaryFolder();
    const name = topicName('kept');
    const subscription = subscriptionName('kept');
    const pull = { subscription, maxMessages: 10, returnImmediately: true };
    const first = await startServer({ connectors: ['gcp'], folder: folder.path });
    const before = connectClients(first.address('gcp').port);
    await before.publisher.createTopic({ name });
    await before.subscriber.createSubscription({
      name: subscription,
      topic: name,
      enableMessageOrdering: true,
    });
    const messages = ['a', 'b', 'c'].map((text) => ({ data: Buffer.from(text) }));
    const [{ messageIds }] = await before.publisher.publish({ topic: name, messages });
    await before.publisher.publish({
      topic: name,
      messages: [{ data: Buffer.from('k'), orderingKey: 'key' }],
    });
    const [{ receivedMessages: early }] = await before.subscriber.pull({ ...pull, maxMessages: 2 });
    const ackIds = (early ?? []).map(({ ackId }) => ackId ?? '');
    expect(ackIds).toHaveLength(2);
    await before.close();
    await first.stop();

    const second = await startServer({ connectors: ['gcp'], folder: folder.path });
    const after = connectClients(second.address('gcp').port);
    const [{ receivedMessages: rest }] = await after.subscriber.pull(pull);
    expect(rest).toHaveLength(2);
    // Ids given before the restart still settle.
    await after.subscriber.modifyAckDeadline({ subscription, ackIds: [ackIds[0]!], ackDeadlineSeconds: 0 });
    await after.subscriber.acknowledge({ subscription, ackIds: [ackIds[1]!] });
    const [{ receivedMessages: back }] = await after.subscriber.pull(pull);
    expect(back).toHaveLength(1);
    expect(back?.[0]?.message?.messageId).toBe(early?.[0]?.message?.messageId);
    // The fan-out is there again, and ids go on rising.
    const [{ messageIds: later }] = await after.publisher.publish({
      topic: name,
      messages: [{ data: Buffer.from('d') }],
    });
    expect(BigInt(later?.[0] ?? 0) / 10n > BigInt(messageIds?.[2] ?? 0) / 10n).toBe(true);
    const [{ receivedMessages: fresh }] = await after.subscriber.pull(pull);
    expect(fresh?.map(({ message }) => String(message?.data))).toEqual(['d']);
    await after.close();
    await second.stop();
    folder.remove();
  });
});

describe('a shutdown', () => {
  it('closes streams so that clients go elsewhere', async () => {
    // Waiting for streams to end by themselves would take longer than this test may.
    const config = { store: { engine: 'memory' as const }, shutdown: { graceMs: 600_000 } };
    const server = await startServer({ connectors: ['gcp'], config });
    const clients = connectClients(server.address('gcp').port);
    await clients.publisher.createTopic({ name: topicName('closing') });
    await clients.subscriber.createSubscription({
      name: subscriptionName('closing'),
      topic: topicName('closing'),
    });
    const call = clients.subscriber.streamingPull();
    let responses = 0;
    call.on('data', () => responses++);
    const ended = new Promise((resolve) => call.on('error', resolve));
    call.write({ subscription: subscriptionName('closing'), streamAckDeadlineSeconds: 10 });
    await eventually(() => responses === 1);
    const stopped = server.stop();
    expect(await ended).toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining('the stream has been closed'),
    });
    await clients.close();
    await stopped;
  });

  it('ends old streams by age', async () => {
    const clock = new ManualClock(Date.now());
    const server = await startServer({
      connectors: ['gcp'],
      clock,
      config: { store: { engine: 'memory' }, connectors: { pubSub: { streamCloseSeconds: 600 } } },
    });
    const clients = connectClients(server.address('gcp').port);
    await clients.publisher.createTopic({ name: topicName('aging') });
    await clients.subscriber.createSubscription({
      name: subscriptionName('aging'),
      topic: topicName('aging'),
    });
    const call = clients.subscriber.streamingPull();
    let end: unknown;
    const ended = new Promise((resolve) => call.on('error', (error) => resolve((end = error))));
    let responses = 0;
    call.on('data', () => responses++);
    call.write({ subscription: subscriptionName('aging'), streamAckDeadlineSeconds: 10 });
    await eventually(() => responses === 1);
    await elapse(clients, clock, 599_000);
    call.write({});
    await eventually(() => responses === 2);
    expect(end).toBeUndefined();
    clock.advance(1000);
    expect(await ended).toMatchObject({ code: status.UNAVAILABLE });
    await clients.close();
    await server.stop();
  });
});
