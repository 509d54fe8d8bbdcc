import { AmqpConnection } from '../../bench/client/amqp.js';
import { publishTemplate } from '../../bench/client/amqp-frames.js';
import { bodyText, readSequence, SEQUENCE_DIGITS, writeSequence } from '../../bench/client/body.js';
import { NativeConnection } from '../../bench/client/native.js';
import { PubSubConnection, pubsubPublishTemplate } from '../../bench/client/pubsub.js';
import { SqsConnection, SqsError, type SqsReceived } from '../../bench/client/sqs.js';
import type { BrokerProcess } from '../support/process.js';
import { queueMessage } from './exercises/native.js';
import { sleep } from './exercise.js';
import { NativePoller } from './native-poller.js';

/** What became of a send: stored, refused in a way that clients try again, or anything else. */
export type SendFate = 'stored' | 'retryable' | { readonly wrong: string };

/** One protocol, reduced to what the disk tests need. */
export interface Wire {
  readonly name: string;
  send(sequence: number): Promise<SendFate>;
  /** One message and its acknowledgement; undefined when nothing came within a second. */
  receive(): Promise<number | undefined>;
  /** Gives what was pushed and acknowledged and that `receive` has not handed out. */
  close(): readonly number[];
}

const RECEIVE_MS = 1000;
const HELD_BACK_MS = 2000;

/** A client of every protocol, each with a queue of its own named after `name`. */
export async function openWires(broker: BrokerProcess, name: string): Promise<readonly Wire[]> {
  return [
    await sqsWire(broker.port('aws'), name),
    await pubsubWire(broker.port('gcp'), name),
    await amqpWire(broker.port('amqp'), name),
    await nativeWire(broker.port('native-grpc'), name),
  ];
}

async function sqsWire(port: number, name: string): Promise<Wire> {
  const connection = await SqsConnection.open(port);
  const queueUrl = await connection.createQueue(name);
  return {
    name: 'sqs',
    send: async (sequence) => {
      const body = String(sequence).padStart(SEQUENCE_DIGITS, '0') + bodyText().slice(SEQUENCE_DIGITS);
      try {
        await connection.call('SendMessage', { QueueUrl: queueUrl, MessageBody: body });
        return 'stored';
      } catch (error) {
        if (error instanceof SqsError && error.status === 503) return 'retryable';
        return { wrong: String(error) };
      }
    },
    receive: async () => {
      const input = { QueueUrl: queueUrl, WaitTimeSeconds: 1 };
      const { Messages: [message] = [] } = await connection.call<{ Messages?: SqsReceived[] }>(
        'ReceiveMessage',
        input,
      );
      if (message === undefined) return undefined;
      await connection.call('DeleteMessage', { QueueUrl: queueUrl, ReceiptHandle: message.ReceiptHandle });
      return Number(message.Body.slice(0, SEQUENCE_DIGITS));
    },
    close: () => {
      connection.close();
      return [];
    },
  };
}

async function pubsubWire(port: number, name: string): Promise<Wire> {
  const connection = await PubSubConnection.open(port);
  const topic = `projects/fault/topics/${name}`;
  const subscription = `projects/fault/subscriptions/${name}`;
  await connection.createTopic(topic).catch(ignoreExisting);
  await connection.createSubscription(subscription, topic).catch(ignoreExisting);
  const inbox = new Inbox();
  const pull = connection.streamingPull({
    subscription,
    onMessages: (messages) => {
      for (const { data } of messages) inbox.add(readSequence(data, 0));
      pull.ack(messages.map(({ ackId }) => ackId));
    },
    onEnd: () => undefined,
  });
  return {
    name: 'pubsub',
    send: async (sequence) => {
      const { request, sequenceOffsets } = pubsubPublishTemplate(topic, 1);
      writeSequence(request, sequenceOffsets[0] ?? 0, sequence);
      return connection.publish(request).then((): SendFate => 'stored', grpcFate);
    },
    receive: () => inbox.take(),
    close: () => {
      connection.close();
      return inbox.rest;
    },
  };
}

async function amqpWire(port: number, name: string): Promise<Wire> {
  const inbox = new Inbox();
  const open = new Map<number, (fate: SendFate) => void>();
  let tags = 0;
  const settle = (tag: number, fate: SendFate): void => {
    open.get(tag)?.(fate);
    open.delete(tag);
  };
  const connection: AmqpConnection = await AmqpConnection.open({
    port,
    onConfirm: (tag, multiple, ok) => {
      for (const one of multiple ? [...open.keys()].filter((key) => key <= tag) : [tag]) {
        settle(one, ok ? 'stored' : 'retryable');
      }
    },
    onDelivery: ({ tag, body }) => {
      inbox.add(readSequence(body, 0));
      connection.ack(tag);
    },
    onClose: (reason) => [...open.keys()].forEach((tag) => settle(tag, { wrong: reason })),
  });
  await connection.declareQueue(name);
  await connection.confirmSelect();
  await connection.prefetch(1);
  await connection.consume(name);
  const { frames, sequenceOffset } = publishTemplate(name, bodyText());
  return {
    name: 'amqp',
    send: async (sequence) => {
      const copy = Buffer.from(frames);
      writeSequence(copy, sequenceOffset, sequence);
      const tag = ++tags;
      const fate = new Promise<SendFate>((resolve) => open.set(tag, resolve));
      connection.publish(copy);
      // A blocked connection holds publishes back instead of refusing them, as RabbitMQ's does.
      return Promise.race([fate, sleep(HELD_BACK_MS).then((): SendFate => 'retryable')]);
    },
    receive: () => inbox.take(),
    close: () => {
      connection.close();
      return inbox.rest;
    },
  };
}

async function nativeWire(port: number, name: string): Promise<Wire> {
  const connection = await NativeConnection.open(port);
  const poller = new NativePoller(connection);
  const channel = `fault.${name}`;
  return {
    name: 'native',
    send: async (sequence) =>
      connection.sendQueueMessage(queueMessage(channel, sequence)).then((): SendFate => 'stored', grpcFate),
    receive: async () => {
      const poll = await poller.get(channel, 1, RECEIVE_MS);
      const [message] = poll.messages;
      if (message === undefined) return undefined;
      poller.ackAll(poll);
      return readSequence(message.body, 0);
    },
    close: () => {
      connection.close();
      return [];
    },
  };
}

function grpcFate(error: unknown): SendFate {
  const text = error instanceof Error ? error.message : String(error);
  return /status (8|14)\b|try again|unavailable|space/i.test(text) ? 'retryable' : { wrong: text };
}

function ignoreExisting(error: unknown): void {
  if (!String(error).includes('status 6')) throw error;
}

/** Messages that were pushed and not asked for yet. */
class Inbox {
  readonly #sequences: number[] = [];

  get rest(): readonly number[] {
    return this.#sequences;
  }

  add(sequence: number): void {
    this.#sequences.push(sequence);
  }

  async take(): Promise<number | undefined> {
    const end = performance.now() + RECEIVE_MS;
    while (this.#sequences.length === 0 && performance.now() < end) await sleep(5);
    return this.#sequences.shift();
  }
}
