import { AmqpConnection } from '../../../bench/client/amqp.js';
import { publishTemplate } from '../../../bench/client/amqp-frames.js';
import { bodyText, readSequence, writeSequence } from '../../../bench/client/body.js';
import type { Taken } from './history.js';
import { PORTS } from './machines.js';
import { Pushed, WrongAnswer, type Consumer, type Sender, type Wire } from './wire.js';

const QUEUE = 'cluster';
const SEALS = 'seals';
const PREFETCH = 20;
const TAKE_MS = 1_000;

type TakenHere = Taken & { readonly tag: number };

/** AMQP 0-9-1: persistent messages with publisher confirms, a consumer with a prefetch. */
export const amqpWire: Wire = {
  name: 'amqp',
  order: 'connection',
  deduplicatesMs: 0,
  leaseMs: Number.POSITIVE_INFINITY,
  channel: 'amqp.default.cluster',
  setUp: async (host) => {
    const connection = await AmqpConnection.open({ port: PORTS.amqp, host });
    await connection.declareQueue(QUEUE);
    await connection.declareQueue(SEALS);
    connection.close();
  },
  sender: (host) => Confirming.open(host, () => undefined),
  consumer: async (host) => {
    const consumer = new AmqpConsumer();
    await consumer.open(host);
    return consumer;
  },
};

/** A channel with publisher confirms, one publish at a time. */
class Confirming implements Sender {
  readonly connection: AmqpConnection;
  #waiting: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;
  #failure: Error | undefined;

  private constructor(connection: AmqpConnection) {
    this.connection = connection;
  }

  static async open(
    host: string,
    onFailure: (error: Error) => void,
    onDelivery?: (taken: TakenHere) => void,
  ): Promise<Confirming> {
    const opened: { channel?: Confirming } = {};
    const connection = await AmqpConnection.open({
      port: PORTS.amqp,
      host,
      onConfirm: (_tag, _multiple, ok) => opened.channel?.settle(ok ? undefined : new Error('nack')),
      onDelivery: ({ tag, redelivered, body }) =>
        onDelivery?.({ tag, redelivered, sequence: readSequence(body, 0) }),
      onClose: (reason) => {
        const error = failure(reason);
        onFailure(error);
        opened.channel?.fail(error);
      },
    });
    const channel = new Confirming(connection);
    opened.channel = channel;
    try {
      await connection.confirmSelect();
    } catch (error) {
      throw failure(String(error));
    }
    return channel;
  }

  send(sequence: number, _group = 0, queue = QUEUE): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      this.#waiting = { resolve, reject };
      const { frames, sequenceOffset } = publishTemplate(queue, bodyText(300));
      writeSequence(frames, sequenceOffset, sequence);
      this.connection.publish(frames);
    });
  }

  close(): void {
    this.connection.close();
  }

  settle(error: Error | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (error === undefined) waiting?.resolve();
    else waiting?.reject(error);
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.settle(error);
  }
}

class AmqpConsumer implements Consumer {
  readonly #pushed = new Pushed<TakenHere>();
  #channel: Confirming | undefined;

  async open(host: string): Promise<void> {
    this.#channel = await Confirming.open(
      host,
      (error) => this.#pushed.fail(error),
      (taken) => this.#pushed.add([taken]),
    );
    try {
      await this.#channel.connection.prefetch(PREFETCH);
      await this.#channel.connection.consume(QUEUE);
    } catch (error) {
      throw failure(String(error));
    }
  }

  take(): Promise<readonly TakenHere[]> {
    return this.#pushed.take(PREFETCH, TAKE_MS);
  }

  /** An ack has no answer, but what is confirmed behind it on the same channel was read behind it. */
  ack(taken: readonly TakenHere[]): Promise<readonly number[]> {
    for (const { tag } of taken) this.#channel?.connection.ack(tag);
    return Promise.resolve(taken.map(({ sequence }) => sequence));
  }

  async seal(): Promise<void> {
    await this.#channel?.send(0, 0, SEALS);
  }

  close(): void {
    this.#channel?.close();
  }
}

/** A server that goes away says 320 or nothing, one that cannot serve now 506; any other code is an error of the client's. */
function failure(reason: string): Error {
  const code = /closed: (\d+)/.exec(reason)?.[1];
  return code === undefined || code === '320' || code === '506' ? new Error(reason) : new WrongAnswer(reason);
}
