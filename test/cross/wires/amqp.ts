import { connect, type Channel, type ConsumeMessage } from 'amqplib';
import { Inbox } from './inbox.js';
import type { Consumer, Endpoints, Producer, Received } from './wire.js';

const CONTENT_TYPE_ATTRIBUTE = 'amqp.content-type';
const METADATA_HEADER = 'x-kubemq-metadata';

export async function amqpProducer(endpoints: Endpoints, queue: string): Promise<Producer> {
  const connection = await connect(endpoints.amqp);
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue(queue, { durable: true });
  return {
    name: 'AMQP',
    takesBytes: true,
    send: async ({ body, attribute }) => {
      channel.sendToQueue(queue, body, {
        persistent: true,
        contentType: 'text/plain',
        headers: { [attribute.name]: attribute.value },
      });
      await channel.waitForConfirms();
    },
    close: () => connection.close(),
  };
}

export async function amqpConsumer(endpoints: Endpoints, queue: string): Promise<Consumer> {
  const connection = await connect(endpoints.amqp);
  const channel = await connection.createChannel();
  await channel.assertQueue(queue, { durable: true });
  await channel.prefetch(1);
  const inbox = new Inbox<ConsumeMessage>();
  await channel.consume(queue, (message) => {
    if (message === null) inbox.fail(new Error('the consumer was cancelled'));
    else inbox.put(message);
  });
  connection.on('error', (error: Error) => inbox.fail(error));
  return {
    name: 'AMQP',
    receive: async () => received(channel, await inbox.take()),
    close: async () => {
      // The library lets a connection's close overtake the acks of its channels; a channel's close does not.
      await channel.close();
      await connection.close();
    },
  };
}

function received(channel: Channel, message: ConsumeMessage): Received {
  const { headers = {}, contentType, messageId } = message.properties;
  const attributes = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (name !== METADATA_HEADER) attributes.set(name, String(value));
  }
  if (contentType !== undefined) attributes.set(CONTENT_TYPE_ATTRIBUTE, String(contentType));
  return {
    body: message.content,
    wasBase64: false,
    attributes,
    metadata: (headers as Record<string, string | undefined>)[METADATA_HEADER],
    id: String(messageId),
    // The protocol says whether, not how often.
    receiveCount: undefined,
    isRedelivered: message.fields.redelivered,
    accept: async () => channel.ack(message),
    giveBack: async () => channel.nack(message, false, true),
  };
}
