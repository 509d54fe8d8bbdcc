import { AckResponses, type Message } from '@google-cloud/pubsub';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useServer } from '../../support/server.js';
import { connectClients, eventually, type Clients } from './clients.js';

const server = useServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
let clients: Clients;
beforeAll(() => {
  clients = connectClients(server().address('gcp').port);
});
afterAll(() => clients.close());

describe("Google's client", () => {
  it('hears that each acknowledgement was taken, and seeks back to a snapshot', async () => {
    const [topic] = await clients.pubsub.createTopic('certain');
    const [subscription] = await topic.createSubscription('certain', { enableExactlyOnceDelivery: true });
    await subscription.createSnapshot('certain-start');
    const texts = ['a', 'b', 'c'];
    for (const text of texts) await topic.publishMessage({ data: Buffer.from(text) });
    const answers: string[] = [];
    const seen: string[] = [];
    const take = async (message: Message): Promise<void> => {
      seen.push(String(message.data));
      answers.push(await message.ackWithResponse());
    };
    subscription.on('message', (message: Message) => void take(message));
    await eventually(() => answers.length === 3, 30_000);
    expect(answers).toEqual(texts.map(() => AckResponses.Success));
    await subscription.seek('certain-start');
    await eventually(() => answers.length === 6, 30_000);
    expect(seen.slice(3).sort()).toEqual(texts);
    await subscription.close();
  });
});
