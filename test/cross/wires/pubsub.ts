import { PubSub, type Message as PubSubMessage } from '@google-cloud/pubsub';
import { Inbox } from './inbox.js';
import type { Consumer, Endpoints, Producer } from './wire.js';

const ALREADY_EXISTS = 6;

function client(endpoints: Endpoints): PubSub {
  // What Google's own documentation says about their emulator: the variable, and any project.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  process.env['PUBSUB_EMULATOR_HOST'] = endpoints.pubsub;
  return new PubSub({ projectId: 'any-project' });
}

/** A topic and, on it, the subscription that is the queue. */
async function createSubscription(pubsub: PubSub, queue: string): Promise<void> {
  await created(pubsub.createTopic(queue));
  await created(pubsub.topic(queue).createSubscription(queue));
}

async function created(creation: Promise<unknown>): Promise<void> {
  await creation.catch((error: unknown) => {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
  });
}

export async function pubsubProducer(endpoints: Endpoints, queue: string): Promise<Producer> {
  const pubsub = client(endpoints);
  await createSubscription(pubsub, queue);
  const topic = pubsub.topic(queue, { batching: { maxMessages: 1 } });
  return {
    name: 'Pub/Sub',
    takesBytes: true,
    send: async ({ body, attribute }) => {
      await topic.publishMessage({ data: body, attributes: { [attribute.name]: attribute.value } });
    },
    close: () => pubsub.close(),
  };
}

export async function pubsubConsumer(endpoints: Endpoints, queue: string): Promise<Consumer> {
  const pubsub = client(endpoints);
  await createSubscription(pubsub, queue);
  const inbox = new Inbox<PubSubMessage>();
  const subscription = pubsub.subscription(queue, { flowControl: { maxMessages: 1 } });
  subscription.on('message', (message: PubSubMessage) => inbox.put(message));
  subscription.on('error', (error: Error) => inbox.fail(error));
  return {
    name: 'Pub/Sub',
    receive: async () => {
      const message = await inbox.take();
      return {
        body: message.data,
        wasBase64: false,
        attributes: new Map(Object.entries(message.attributes)),
        metadata: undefined,
        id: message.id,
        // Only subscriptions with a dead-letter policy count.
        receiveCount: undefined,
        isRedelivered: undefined,
        accept: async () => message.ack(),
        giveBack: async () => message.nack(),
      };
    },
    close: async () => {
      await subscription.close();
      await pubsub.close();
    },
  };
}
