import { readSequence, writeSequence } from '../../../bench/client/body.js';
import type { GrpcCall } from '../../../bench/client/http2.js';
import { ProtoReader, ProtoWriter } from '../../../bench/client/proto.js';
import { PubSubConnection, pubsubPublishTemplate } from '../../../bench/client/pubsub.js';
import type { Taken } from './history.js';
import { PORTS } from './machines.js';
import { grpcFailure, Pushed, type Consumer, type Sender, type Wire } from './wire.js';

const SUBSCRIBER = '/google.pubsub.v1.Subscriber';
const TOPIC = 'projects/cluster/topics/cluster';
const SUBSCRIPTION = 'projects/cluster/subscriptions/cluster';
const SEAL_TOPIC = 'projects/cluster/topics/seals';
const SEAL_SUBSCRIPTION = 'projects/cluster/subscriptions/seals';
/** The shortest that the service allows. */
const ACK_DEADLINE_SECONDS = 10;
const OUTSTANDING_MAX = 20;
const TAKE_MS = 1_000;

type TakenHere = Taken & { readonly ackId: string };

/** Pub/Sub: publishes with an ordering key for each sender, a streaming pull, and acknowledgements by a call of their own. */
export const pubsubWire: Wire = {
  name: 'pubsub',
  order: 'strict',
  deduplicatesMs: 0,
  leaseMs: ACK_DEADLINE_SECONDS * 1000,
  channel: 'gcp.sub.cluster',
  setUp: async (host) => {
    const connection = await PubSubConnection.open(PORTS.gcp, host);
    const made = [
      () => connection.createTopic(TOPIC),
      () => connection.createSubscription(SUBSCRIPTION, TOPIC, true),
      () => connection.createTopic(SEAL_TOPIC),
      () => connection.createSubscription(SEAL_SUBSCRIPTION, SEAL_TOPIC),
    ];
    for (const make of made) await make().catch(unlessThere);
    connection.close();
  },
  sender: async (host) => new PubSubSender(await PubSubConnection.open(PORTS.gcp, host)),
  consumer: async (host) => new PubSubConsumer(await PubSubConnection.open(PORTS.gcp, host)),
};

class PubSubSender implements Sender {
  readonly #connection: PubSubConnection;

  constructor(connection: PubSubConnection) {
    this.#connection = connection;
  }

  async send(sequence: number, group: number): Promise<void> {
    await publish(this.#connection, TOPIC, sequence, `k${group}`);
  }

  close(): void {
    this.#connection.close();
  }
}

class PubSubConsumer implements Consumer {
  readonly #connection: PubSubConnection;
  readonly #pushed = new Pushed<TakenHere>();
  readonly #pull: GrpcCall;

  constructor(connection: PubSubConnection) {
    this.#connection = connection;
    this.#pull = connection.grpc.open(`${SUBSCRIBER}/StreamingPull`, {
      onMessage: (message) => this.#pushed.add(readMessages(message)),
      onEnd: ({ status, message }) => this.#pushed.fail(grpcFailure(`status ${status} ${message}`)),
    });
    const request = new ProtoWriter().text(1, SUBSCRIPTION).varint(5, ACK_DEADLINE_SECONDS);
    this.#pull.write(request.varint(7, OUTSTANDING_MAX).finish());
  }

  take(): Promise<readonly TakenHere[]> {
    return this.#pushed.take(OUTSTANDING_MAX, TAKE_MS);
  }

  async ack(taken: readonly TakenHere[]): Promise<readonly number[]> {
    const request = new ProtoWriter().text(1, SUBSCRIPTION);
    for (const { ackId } of taken) request.text(2, ackId);
    try {
      await this.#connection.grpc.unary(`${SUBSCRIBER}/Acknowledge`, request.finish());
    } catch (error) {
      throw grpcFailure(error);
    }
    return taken.map(({ sequence }) => sequence);
  }

  async seal(): Promise<void> {
    await publish(this.#connection, SEAL_TOPIC, 0, '');
  }

  close(): void {
    this.#connection.close();
  }
}

async function publish(
  connection: PubSubConnection,
  topic: string,
  sequence: number,
  key: string,
): Promise<void> {
  const { request, sequenceOffsets } = pubsubPublishTemplate(topic, 1, key);
  writeSequence(request, sequenceOffsets[0] ?? 0, sequence);
  try {
    await connection.publish(request);
  } catch (error) {
    throw grpcFailure(error);
  }
}

function readMessages(response: Uint8Array): TakenHere[] {
  const taken: TakenHere[] = [];
  const reader = new ProtoReader(response);
  while (reader.next()) {
    if (reader.field !== 1) continue;
    const received = reader.message();
    let ackId = '';
    let sequence = -1;
    let id: string | undefined;
    while (received.next()) {
      if (received.field === 1) ackId = received.text();
      if (received.field !== 2) continue;
      const message = received.message();
      while (message.next()) {
        if (message.field === 1) sequence = readSequence(message.slice(), 0);
        else if (message.field === 3) id = message.text();
      }
    }
    taken.push({ sequence, id, ackId });
  }
  return taken;
}

/** A try before this one may have made it. */
function unlessThere(error: unknown): void {
  if (!String(error).includes('status 6 ')) throw error;
}
