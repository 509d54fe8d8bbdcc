import { readSequence } from '../../../bench/client/body.js';
import { NativeConnection, type NativePoll } from '../../../bench/client/native.js';
import { queueMessage } from '../exercises/native.js';
import { NativePoller } from '../native-poller.js';
import type { Taken } from './history.js';
import { PORTS } from './machines.js';
import { grpcFailure, WrongAnswer, type Consumer, type Sender, type Wire } from './wire.js';

const CHANNEL = 'cluster.native';
const SEALS = 'cluster.seals';
const BATCH_MAX = 20;
const TAKE_MS = 1_000;

/** The native gRPC API: single sends, and a downstream that acknowledges each transaction. */
export const nativeWire: Wire = {
  name: 'native',
  // One that is given back may come behind later ones, and nothing tells that it is back.
  order: 'none',
  deduplicatesMs: 0,
  leaseMs: Number.POSITIVE_INFINITY,
  channel: CHANNEL,
  // The first message makes the queue.
  setUp: () => Promise.resolve(),
  sender: async (host) => {
    const connection = await NativeConnection.open(PORTS['native-grpc'], host);
    return {
      send: (sequence) => send(connection, CHANNEL, sequence),
      close: () => connection.close(),
    } satisfies Sender;
  },
  consumer: async (host) => new NativeConsumer(await NativeConnection.open(PORTS['native-grpc'], host)),
};

class NativeConsumer implements Consumer {
  readonly #connection: NativeConnection;
  readonly #poller: NativePoller;
  #poll: NativePoll | undefined;

  constructor(connection: NativeConnection) {
    this.#connection = connection;
    this.#poller = new NativePoller(connection);
  }

  async take(): Promise<readonly Taken[]> {
    try {
      this.#poll = await this.#poller.get(CHANNEL, BATCH_MAX, TAKE_MS);
    } catch (error) {
      throw nativeFailure(error);
    }
    return this.#poll.messages.map(({ id, body }) => ({ id, sequence: readSequence(body, 0) }));
  }

  /** AckAll has no answer; what is asked behind it on the same connection has. */
  async ack(taken: readonly Taken[]): Promise<readonly number[]> {
    if (this.#poll !== undefined) this.#poller.ackAll(this.#poll);
    await this.#connection.ping();
    return taken.map(({ sequence }) => sequence);
  }

  async seal(): Promise<void> {
    await send(this.#connection, SEALS, 0);
  }

  close(): void {
    this.#connection.close();
  }
}

async function send(connection: NativeConnection, channel: string, sequence: number): Promise<void> {
  try {
    await connection.sendQueueMessage(queueMessage(channel, sequence));
  } catch (error) {
    throw nativeFailure(error);
  }
}

/** Errors on streams of the native API are texts in answers: these pass. */
function nativeFailure(error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  if (/status \d+/.test(text)) return grpcFailure(error);
  return /does not own|nearly full|does not keep up|does not answer|stopping|closed|ended|ECONN|EHOST/i.test(
    text,
  )
    ? new Error(text)
    : new WrongAnswer(text);
}
