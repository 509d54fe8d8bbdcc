import { describe, expect, it } from 'vitest';
import { startServer, urlOf } from '../../support/server.js';
import { connectClients, subscriptionName, topicName } from './clients.js';

const SUBSCRIPTIONS = 10;
const BODY_BYTES = 1024;

describe('a topic with ten subscriptions', () => {
  it.each([
    ['one by one', 1, 500],
    ['in hundreds', 100, 5000],
  ])('writes each body once when it is published %s', async (_, batch, count) => {
    const server = await startServer({ connectors: ['gcp'] });
    const clients = connectClients(server.address('gcp').port);
    const written = async (): Promise<number> => {
      const text = await (await fetch(`${urlOf(server, 'api')}/metrics`)).text();
      return Number(/^\w*journal_appended_bytes\S* (\d+)$/m.exec(text)?.[1]);
    };
    const topic = topicName('wide');
    await clients.publisher.createTopic({ name: topic });
    const ids = Array.from({ length: SUBSCRIPTIONS }, (_, i) => `wide-${i}`);
    for (const id of ids) await clients.subscriber.createSubscription({ name: subscriptionName(id), topic });
    const before = await written();
    const messages = Array.from({ length: batch }, () => ({ data: Buffer.alloc(BODY_BYTES, 'x') }));
    const calls = Array.from({ length: count / batch }, () => clients.publisher.publish({ topic, messages }));
    await Promise.all(calls);
    let received = 0;
    for (const id of ids) {
      const subscription = subscriptionName(id);
      for (;;) {
        const request = { subscription, maxMessages: 1000, returnImmediately: true };
        const [{ receivedMessages }] = await clients.subscriber.pull(request);
        const ackIds = (receivedMessages ?? []).map(({ ackId }) => ackId ?? '');
        if (ackIds.length === 0) break;
        received += ackIds.length;
        await clients.subscriber.acknowledge({ subscription, ackIds });
      }
    }
    expect(received).toBe(count * SUBSCRIPTIONS);
    expect(((await written()) - before) / count / BODY_BYTES).toBeLessThanOrEqual(1.3);
    await clients.close();
    await server.stop();
  });
});
