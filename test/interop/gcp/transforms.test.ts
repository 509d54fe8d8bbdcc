import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useServer } from '../../support/server.js';
import { collect, connectClients, eventually, subscriptionName, topicName, type Clients } from './clients.js';
import { PushEndpoint } from './push-endpoint.js';

describe('message transforms', () => {
  const server = useServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
  let clients: Clients;
  beforeAll(() => {
    clients = connectClients(server().address('gcp').port);
  });
  afterAll(() => clients.close());

  const udf = (functionName: string, body: string, disabled = false) => ({
    disabled,
    javascriptUdf: { functionName, code: `function ${functionName}(message, metadata) { ${body} }` },
  });
  const create = async (id: string, onTopic: object[], onSubscription: object[], more: object = {}) => {
    await clients.publisher.createTopic({ name: topicName(id), messageTransforms: onTopic });
    await clients.subscriber.createSubscription({
      name: subscriptionName(id),
      topic: topicName(id),
      messageTransforms: onSubscription,
      ...more,
    });
  };
  const publish = async (id: string, texts: readonly string[], more: object = {}) => {
    const messages = texts.map((text) => ({ data: Buffer.from(text), attributes: { text }, ...more }));
    const [{ messageIds }] = await clients.publisher.publish({ topic: topicName(id), messages });
    return messageIds ?? [];
  };
  const received = async (id: string, count: number): Promise<string[]> => {
    const subscription = clients.pubsub.subscription(id);
    const messages = await collect(subscription, count);
    await subscription.close();
    return messages.map(({ data }) => String(data));
  };
  const waiting = (id: string) => server().broker.queueStats(`gcp.sub.${id}` as never);

  it('change what is published, before filters and subscriptions see it', async () => {
    const shout = udf(
      'shout',
      'message.data = message.data.toUpperCase(); message.attributes.loud = "yes"; return message;',
    );
    await create('publish', [shout, udf('off', 'return null;', true)], [], {
      filter: 'attributes.loud = "yes"',
    });
    await publish('publish', ['a', 'b']);
    expect((await received('publish', 2)).toSorted()).toEqual(['A', 'B']);
  });

  it('filter what is published: it gets an id and reaches nobody', async () => {
    await create('filter', [udf('odd', 'return Number(message.data) % 2 === 1 ? message : null;')], []);
    expect(await publish('filter', ['1', '2', '3'])).toHaveLength(3);
    expect((await received('filter', 2)).toSorted()).toEqual(['1', '3']);
    expect(waiting('filter')).toMatchObject({ ready: 0, inFlight: 0 });
  });

  it('refuse a whole publish when one message fails', async () => {
    await create('refuse', [udf('strict', 'return { data: JSON.stringify(JSON.parse(message.data)) };')], []);
    await expect(publish('refuse', ['{}', 'no'])).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("JavaScript UDF 'strict'"),
    });
    expect(waiting('refuse')).toMatchObject({ ready: 0 });
  });

  it('change and filter what a subscription hands out, to pulls and to streams', async () => {
    const tag = udf(
      'tag',
      'if (message.data === "drop") return null; message.data += metadata.message_id; return message;',
    );
    await create('deliver', [], [tag]);
    const ids = await publish('deliver', ['x', 'drop', 'y']);
    const subscription = subscriptionName('deliver');
    const [{ receivedMessages }] = await clients.subscriber.pull({ subscription, maxMessages: 10 });
    const pulled = (receivedMessages ?? []).map(({ message }) => String(message?.data));
    expect(pulled).toEqual([`x${ids[0]}`, `y${ids[2]}`]);
    const ackIds = (receivedMessages ?? []).map(({ ackId }) => ackId ?? '');
    await clients.subscriber.modifyAckDeadline({ subscription, ackIds, ackDeadlineSeconds: 0 });
    expect((await received('deliver', 2)).toSorted()).toEqual(pulled);
    expect(waiting('deliver')).toMatchObject({ ready: 0, inFlight: 0 });
  });

  it('keep the order of a key', async () => {
    const tag = udf(
      'tag',
      'if (message.data === "3") return null; message.data += metadata.ordering_key; return message;',
    );
    await create('order', [], [tag], { enableMessageOrdering: true });
    await publish('order', ['1', '2', '3', '4', '5'], { orderingKey: 'k' });
    expect(await received('order', 4)).toEqual(['1k', '2k', '4k', '5k']);
  });

  it('give back what fails in a subscription', async () => {
    await create('fail', [], [udf('broken', 'throw new Error("no");')]);
    await publish('fail', ['x']);
    const pull = { subscription: subscriptionName('fail'), maxMessages: 1, returnImmediately: true };
    const [{ receivedMessages }] = await clients.subscriber.pull(pull);
    expect(receivedMessages).toEqual([]);
    expect(waiting('fail')).toMatchObject({ ready: 0, delayed: 1, inFlight: 0 });
  });

  it('send what fails in a subscription to its dead-letter topic, through streams and push', async () => {
    const endpoint = new PushEndpoint();
    const pushEndpoint = await endpoint.start();
    for (const [id, pushConfig] of [
      ['pulled-letters', {}],
      ['pushed-letters', { pushEndpoint }],
    ] as const) {
      await create(`${id}-dead`, [], []);
      const deadLetterPolicy = { deadLetterTopic: topicName(`${id}-dead`), maxDeliveryAttempts: 5 };
      const broken = udf('broken', 'if (message.data === "bad") throw new Error("no"); return message;');
      await create(id, [], [broken], {
        deadLetterPolicy,
        pushConfig,
        retryPolicy: { minimumBackoff: { seconds: 0 }, maximumBackoff: { seconds: 0 } },
      });
      await publish(id, ['bad', 'good']);
      const subscription = clients.pubsub.subscription(id);
      const pulled: string[] = [];
      if (id === 'pulled-letters') {
        subscription.on('message', (message) => {
          pulled.push(String(message.data));
          message.ack();
        });
      }
      expect(await received(`${id}-dead`, 1)).toEqual(['bad']);
      await eventually(() => endpoint.requests.length + pulled.length > 0);
      await subscription.close();
      if (id === 'pulled-letters') expect(pulled).toEqual(['good']);
    }
    expect(endpoint.requests.map(({ text, json }) => [text, json.deliveryAttempt])).toEqual([['good', 1]]);
    await endpoint.stop();
  });

  it('are refused when they cannot run', async () => {
    const bad = udf('f', 'return {{;');
    const messageTransforms = [bad];
    await expect(
      clients.publisher.createTopic({ name: topicName('bad'), messageTransforms }),
    ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    await expect(create('bad', [], messageTransforms)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
  });
});
