import { bodyText } from './body.js';
import { GrpcConnection, type GrpcCall, type GrpcEnd } from './http2.js';
import { ProtoReader, ProtoWriter } from './proto.js';

const PUBLISHER = '/google.pubsub.v1.Publisher';
const SUBSCRIBER = '/google.pubsub.v1.Subscriber';

export const PUBLISH_PATH = `${PUBLISHER}/Publish`;

export interface PubSubReceived {
  readonly ackId: string;
  readonly orderingKey: string;
  /** Valid during the call only. */
  readonly data: Uint8Array;
}

export interface PullOptions {
  readonly subscription: string;
  readonly ackDeadlineSeconds?: number;
  readonly onMessages: (messages: readonly PubSubReceived[]) => void;
  readonly onEnd: (end: GrpcEnd) => void;
}

const ACK_DEADLINE_SECONDS = 60;

/** Pub/Sub v1 over a raw gRPC connection. */
export class PubSubConnection {
  readonly grpc: GrpcConnection;

  private constructor(grpc: GrpcConnection) {
    this.grpc = grpc;
  }

  static async open(port: number, host?: string): Promise<PubSubConnection> {
    return new PubSubConnection(await GrpcConnection.open(port, host));
  }

  async createTopic(topic: string): Promise<void> {
    await this.grpc.unary(`${PUBLISHER}/CreateTopic`, new ProtoWriter().text(1, topic).finish());
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.grpc.unary(`${PUBLISHER}/DeleteTopic`, new ProtoWriter().text(1, topic).finish());
  }

  /** `ordered`: messages with an ordering key come in order. */
  async createSubscription(subscription: string, topic: string, ordered = false): Promise<void> {
    const request = new ProtoWriter().text(1, subscription).text(2, topic).varint(5, ACK_DEADLINE_SECONDS);
    if (ordered) request.varint(10, 1);
    await this.grpc.unary(`${SUBSCRIBER}/CreateSubscription`, request.finish());
  }

  async deleteSubscription(subscription: string): Promise<void> {
    await this.grpc.unary(
      `${SUBSCRIBER}/DeleteSubscription`,
      new ProtoWriter().text(1, subscription).finish(),
    );
  }

  /** Sends a Publish request made before; gives the number of message ids in the answer. */
  async publish(request: Uint8Array): Promise<number> {
    const answer = new ProtoReader(await this.grpc.unary(PUBLISH_PATH, request));
    let ids = 0;
    while (answer.next()) if (answer.field === 1 && answer.size > 0) ids++;
    return ids;
  }

  /** Opens a StreamingPull with up to 10 000 messages outstanding. */
  streamingPull({ subscription, onMessages, onEnd, ...rest }: PullOptions): PullStream {
    const deadline = rest.ackDeadlineSeconds ?? ACK_DEADLINE_SECONDS;
    const call = this.grpc.open(`${SUBSCRIBER}/StreamingPull`, {
      onMessage: (message) => onMessages(readPull(message)),
      onEnd,
    });
    call.write(new ProtoWriter().text(1, subscription).varint(5, deadline).varint(7, 10_000).finish());
    return new PullStream(call);
  }

  close(): void {
    this.grpc.close();
  }
}

export class PullStream {
  readonly #call: GrpcCall;

  constructor(call: GrpcCall) {
    this.#call = call;
  }

  ack(ackIds: readonly string[]): void {
    const request = new ProtoWriter();
    for (const ackId of ackIds) request.text(2, ackId);
    this.#call.write(request.finish());
  }

  /** An empty request: answered by a response without messages, when everything before it was read. */
  keepAlive(): void {
    this.#call.write(new Uint8Array(0));
  }

  cancel(): void {
    this.#call.cancel();
  }
}

function readPull(message: Uint8Array): PubSubReceived[] {
  const received: PubSubReceived[] = [];
  const response = new ProtoReader(message);
  while (response.next()) {
    if (response.field !== 1) continue;
    const one = response.message();
    let ackId = '';
    let orderingKey = '';
    let data: Uint8Array = Buffer.alloc(0);
    while (one.next()) {
      if (one.field === 1) ackId = one.text();
      if (one.field !== 2) continue;
      const inner = one.message();
      while (inner.next()) {
        if (inner.field === 1) data = inner.slice();
        else if (inner.field === 5) orderingKey = inner.text();
      }
    }
    received.push({ ackId, orderingKey, data });
  }
  return received;
}

export interface PublishTemplate {
  readonly request: Buffer;
  readonly sequenceOffsets: readonly number[];
}

/** A Publish request of `batch` messages whose bodies' numbers are written in place. */
export function pubsubPublishTemplate(topic: string, batch: number, orderingKey = ''): PublishTemplate {
  const body = Buffer.from(bodyText(), 'latin1');
  const writer = new ProtoWriter().text(1, topic);
  const message = new ProtoWriter().bytes(1, body);
  if (orderingKey !== '') message.text(5, orderingKey);
  const encoded = message.finish();
  for (let index = 0; index < batch; index++) writer.bytes(2, encoded);
  const request = writer.finish();
  const sequenceOffsets: number[] = [];
  for (let at = request.indexOf(body); at >= 0; at = request.indexOf(body, at + 1)) sequenceOffsets.push(at);
  return { request, sequenceOffsets };
}
