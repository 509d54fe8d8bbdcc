import { credentials } from '@grpc/grpc-js';
import type { ManualClock } from '../../../src/base/clock.js';
import { PubSub, v1, type Message, type Subscription } from '@google-cloud/pubsub';

/** Google's clients against a plain-text endpoint, as PUBSUB_EMULATOR_HOST sets them up. */
export const PROJECT = 'test-project';

const ELAPSE_STEP_MS = 5000;

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

/** Lets the server's time pass until `condition` holds, by `stepMs` at once. */
export async function passing(clock: ManualClock, condition: () => boolean, stepMs = 10): Promise<void> {
  await eventually(() => {
    if (condition()) return true;
    clock.advance(stepMs);
    return false;
  });
}

/** Whatever the server had to do of itself is done: some calls came back from it. */
export async function settled({ publisher }: Clients, calls = 5): Promise<void> {
  const request = { project: `projects/${PROJECT}`, pageSize: 1 };
  for (let i = 0; i < calls; i++) await publisher.listTopics(request, { autoPaginate: false });
}

/** Lets much time pass in steps, as a server takes a peer for gone that is silent all the while. */
export async function elapse(clients: Clients, clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= ELAPSE_STEP_MS) {
    clock.advance(Math.min(left, ELAPSE_STEP_MS));
    await settled(clients, 1);
  }
}

/** Waits until `condition` holds; throws after `timeoutMs`. */
export async function eventually(condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
