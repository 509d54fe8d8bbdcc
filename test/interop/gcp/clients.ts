import { credentials } from '@grpc/grpc-js';
import { PubSub, v1, type Message, type Subscription } from '@google-cloud/pubsub';

/** Google's clients against a plain-text endpoint, as PUBSUB_EMULATOR_HOST sets them up. */
export const PROJECT = 'test-project';

export interface Clients {
  readonly pubsub: PubSub;
  readonly publisher: v1.PublisherClient;
  readonly subscriber: v1.SubscriberClient;
  close(): Promise<void>;
}

export function connectClients(port: number): Clients {
  process.env['PUBSUB_EMULATOR_HOST'] = `127.0.0.1:${port}`;
  const pubsub = new PubSub({ projectId: PROJECT });
  const raw = {
    servicePath: '127.0.0.1',
    port,
    sslCreds: credentials.createInsecure(),
    projectId: PROJECT,
  };
  const publisher = new v1.PublisherClient(raw);
  const subscriber = new v1.SubscriberClient(raw);
  return {
    pubsub,
    publisher,
    subscriber,
    close: async () => {
      await Promise.all([pubsub.close(), publisher.close(), subscriber.close()]);
    },
  };
}

export const topicName = (id: string): string => `projects/${PROJECT}/topics/${id}`;
export const subscriptionName = (id: string): string => `projects/${PROJECT}/subscriptions/${id}`;

/** Takes messages until `count` have come. `settle` is called for each and acks by default. */
export function collect(
  subscription: Subscription,
  count: number,
  settle: (message: Message, index: number) => void = (message) => message.ack(),
): Promise<Message[]> {
  const messages: Message[] = [];
  return new Promise((resolve, reject) => {
    subscription.on('error', reject);
    subscription.on('message', (message: Message) => {
      messages.push(message);
      settle(message, messages.length - 1);
      if (messages.length === count) resolve(messages);
    });
  });
}

/** Waits until `condition` holds; throws after `timeoutMs`. */
export async function eventually(condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
