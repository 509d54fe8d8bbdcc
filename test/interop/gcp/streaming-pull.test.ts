import { create, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { connect } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StreamingPullRequestSchema } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { ManualClock } from '../../../src/base/clock.js';
import { channelName } from '../../../src/core/channel-name.js';
import { useServer } from '../../support/server.js';
import {
  connectClients,
  elapse,
  eventually,
  passing,
  settled,
  subscriptionName,
  topicName,
  type Clients,
} from './clients.js';

const clock = new ManualClock(Date.now());
const server = useServer({ clock, connectors: ['gcp'], config: { store: { engine: 'memory' } } });
let clients: Clients;

beforeAll(() => {
  clients = connectClients(server().address('gcp').port);
});
afterAll(() => clients.close());

interface Response {
  readonly receivedMessages: readonly {
    readonly ackId: string;
    readonly message: { readonly data: Uint8Array };
  }[];
  readonly subscriptionProperties: unknown;
}

/** A StreamingPull by hand, with everything it got. */
class Stream {
  readonly responses: Response[] = [];
  readonly ended: Promise<{ readonly code: number; readonly details: string } | undefined>;
  readonly #call = clients.subscriber.streamingPull();

  constructor(first: object) {
    this.#call.on('data', (response: Response) => this.responses.push(response));
    this.ended = new Promise((resolve) => {
      this.#call.on('error', (error: { code: number; details: string }) => resolve(error));
      this.#call.on('end', () => resolve(undefined));
    });
    this.write(first);
  }

  get messages(): Response['receivedMessages'] {
    return this.responses.flatMap((response) => response.receivedMessages);
  }

  get ackIds(): string[] {
    return this.messages.map(({ ackId }) => ackId);
  }

  get texts(): string[] {
    return this.messages.map(({ message }) => String(message.data));
  }

  write(request: object): void {
    this.#call.write(request);
  }

  end(): void {
    this.#call.end();
  }

  /** Nothing more comes on it, also when some time passes: signs of life are answered behind all that was to come. */
  async quiet(): Promise<void> {
    clock.advance(1000);
    for (let i = 0; i < 3; i++) {
      const before = this.responses.length;
      this.write({});
      await eventually(() => this.responses.length > before);
    }
  }

  async cancel(): Promise<void> {
    this.#call.cancel();
    await this.ended;
  }
}

let made = 0;
/** Makes a topic and subscription with `count` messages of `bytes`; returns the id. */
async function backlog(count: number, bytes = 2, options: object = {}): Promise<string> {
  const id = `stream-${made++}`;
  await clients.publisher.createTopic({ name: topicName(id) });
  await clients.subscriber.createSubscription({
    name: subscriptionName(id),
    topic: topicName(id),
    ...options,
  });
  await publish(id, count, bytes);
  return id;
}

async function publish(id: string, count: number, bytes = 2): Promise<void> {
  const perRequest = Math.max(1, Math.min(1000, Math.floor(8_000_000 / bytes)));
  for (let left = count; left > 0; left -= perRequest) {
    const messages = Array.from({ length: Math.min(left, perRequest) }, () => ({
      data: Buffer.alloc(bytes, 'x'),
    }));
    await clients.publisher.publish({ topic: topicName(id), messages });
  }
}

const open = (id: string, more: object = {}): Stream =>
  new Stream({ subscription: subscriptionName(id), streamAckDeadlineSeconds: 10, ...more });
const acknowledge = (id: string, ackIds: string[]) =>
  clients.subscriber.acknowledge({ subscription: subscriptionName(id), ackIds });

describe('StreamingPull', () => {
  it('says the properties first, and with every response', async () => {
    const id = await backlog(0, 2, { enableMessageOrdering: true });
    const stream = open(id);
    await eventually(() => stream.responses.length === 1);
    await publish(id, 1);
    await eventually(() => stream.responses.length === 2);
    for (const { subscriptionProperties } of stream.responses) {
      expect(subscriptionProperties).toEqual({
        exactlyOnceDeliveryEnabled: false,
        messageOrderingEnabled: true,
      });
    }
    await stream.cancel();
  });

  it('answers signs of life', async () => {
    const id = await backlog(0);
    const stream = open(id, { clientId: 'me', protocolVersion: 1 });
    await eventually(() => stream.responses.length === 1);
    stream.write({});
    await eventually(() => stream.responses.length === 2);
    expect(stream.messages).toEqual([]);
    await stream.cancel();
  });

  it('hands out what is published later', async () => {
    const id = await backlog(0);
    const stream = open(id);
    await eventually(() => stream.responses.length === 1);
    await publish(id, 1);
    await eventually(() => stream.messages.length === 1);
    await stream.cancel();
  });

  it('never has more messages out than the client said; room comes back with acks and nacks of any kind', async () => {
    const id = await backlog(10);
    const stream = open(id, { maxOutstandingMessages: 2 });
    await eventually(() => stream.messages.length === 2);
    await stream.quiet();
    expect(stream.messages).toHaveLength(2);
    await acknowledge(id, [stream.ackIds[0] ?? '']);
    await eventually(() => stream.messages.length === 3);
    stream.write({ ackIds: [stream.ackIds[1]] });
    await eventually(() => stream.messages.length === 4);
    stream.write({ modifyDeadlineAckIds: [stream.ackIds[2]], modifyDeadlineSeconds: [0] });
    await eventually(() => stream.messages.length === 5);
    await stream.quiet();
    expect(stream.messages).toHaveLength(5);
    await stream.cancel();
  });

  it('gives room back when leases end', async () => {
    const id = await backlog(2);
    const stream = open(id, { maxOutstandingMessages: 1 });
    await eventually(() => stream.messages.length === 1);
    await elapse(clients, clock, 8_000);
    await stream.quiet();
    expect(stream.messages).toHaveLength(1);
    await passing(clock, () => stream.messages.length === 2);
    await stream.cancel();
  });

  it('counts bytes; one message larger than the bound passes', async () => {
    const id = await backlog(6, 1000);
    const stream = open(id, { maxOutstandingBytes: 2500 });
    await stream.quiet();
    expect(stream.messages.length).toBeGreaterThanOrEqual(2);
    expect(stream.messages.length).toBeLessThanOrEqual(3);
    const before = stream.messages.length;
    await acknowledge(id, stream.ackIds);
    await eventually(() => stream.messages.length > before);
    await stream.cancel();

    const large = await backlog(2, 5000);
    const other = open(large, { maxOutstandingBytes: 100 });
    await other.quiet();
    expect(other.messages).toHaveLength(1);
    await acknowledge(large, other.ackIds);
    await eventually(() => other.messages.length === 2);
    await other.cancel();
  });

  it('has at most a thousand out when the client sets no bound', async () => {
    const id = await backlog(2000);
    const stream = open(id, { maxOutstandingMessages: 5000 });
    await eventually(() => stream.messages.length === 1000);
    await stream.quiet();
    expect(stream.messages).toHaveLength(1000);
    await acknowledge(id, stream.ackIds);
    await eventually(() => stream.messages.length === 2000);
    await stream.cancel();
  });

  it('keeps responses below what plain gRPC clients take', async () => {
    const id = await backlog(20, 1_000_000);
    const stream = open(id);
    await eventually(() => stream.messages.length === 20);
    for (const { receivedMessages } of stream.responses)
      expect(receivedMessages.length).toBeLessThanOrEqual(3);
    await stream.cancel();
  });

  it('takes a new deadline for what follows', async () => {
    const id = await backlog(1);
    const stream = open(id, { maxOutstandingMessages: 5 });
    await eventually(() => stream.messages.length === 1);
    await acknowledge(id, stream.ackIds);
    stream.write({ streamAckDeadlineSeconds: 60 });
    await publish(id, 1);
    await eventually(() => stream.messages.length === 2);
    await elapse(clients, clock, 58_000);
    await stream.quiet();
    expect(stream.messages).toHaveLength(2);
    clock.advance(1_500);
    await eventually(() => stream.messages.length === 3);
    await acknowledge(id, stream.ackIds.slice(2));
    await stream.cancel();
  });

  it('shares the messages between streams, each to one', async () => {
    const id = await backlog(0);
    const streams = [open(id), open(id), open(id)];
    await eventually(() => streams.every(({ responses }) => responses.length === 1));
    for (let i = 0; i < 30; i++) await publish(id, 10);
    await eventually(() => streams.reduce((sum, { messages }) => sum + messages.length, 0) === 300);
    for (const { messages } of streams) expect(messages.length).toBeGreaterThan(0);
    await Promise.all(streams.map((stream) => stream.cancel()));
  });

  it('leaves leases to run on when it ends; the others get the room', async () => {
    const id = await backlog(2);
    const stream = open(id);
    await eventually(() => stream.messages.length === 2);
    await stream.cancel();
    const other = open(id);
    await other.quiet();
    expect(other.messages).toEqual([]);
    await acknowledge(id, stream.ackIds);
    await publish(id, 1);
    await eventually(() => other.messages.length === 1);
    await other.cancel();
  });

  it('ends with the client', async () => {
    const id = await backlog(0);
    const stream = open(id);
    await eventually(() => stream.responses.length === 1);
    stream.end();
    expect(await stream.ended).toBeUndefined();
  });

  it('ends NOT_FOUND with its subscription', async () => {
    const id = await backlog(0);
    const stream = open(id);
    await eventually(() => stream.responses.length === 1);
    await clients.subscriber.deleteSubscription({ subscription: subscriptionName(id) });
    expect(await stream.ended).toMatchObject({
      code: status.NOT_FOUND,
      details: `Resource not found (resource=${id}).`,
    });
  });

  const invalid = { code: status.INVALID_ARGUMENT };
  it.each([
    ['no deadline', { streamAckDeadlineSeconds: 0 }, invalid],
    ['a deadline of 5', { streamAckDeadlineSeconds: 5 }, invalid],
    ['a deadline of 601', { streamAckDeadlineSeconds: 601 }, invalid],
    ['no subscription', { subscription: '' }, invalid],
    ['a missing subscription', { subscription: subscriptionName('missing') }, { code: status.NOT_FOUND }],
    ['lists of different length', { modifyDeadlineSeconds: [10] }, invalid],
    ['a malformed ack id', { ackIds: ['garbage'] }, invalid],
  ])('refuses a first request with %s', async (_, more, expected) => {
    const id = await backlog(0);
    expect(await open(id, more).ended).toMatchObject(expected);
  });

  it.each([
    ['the subscription', { subscription: subscriptionName('x') }],
    ['max_outstanding_messages', { maxOutstandingMessages: 5 }],
    ['max_outstanding_bytes', { maxOutstandingBytes: 5 }],
    ['client_id', { clientId: 'x' }],
    ['a bad deadline', { streamAckDeadlineSeconds: 5 }],
    ['a negative deadline', { modifyDeadlineAckIds: ['AAAA'], modifyDeadlineSeconds: [-1] }],
  ])('refuses a later request with %s', async (_, request) => {
    const id = await backlog(0);
    const stream = open(id);
    await eventually(() => stream.responses.length === 1);
    stream.write(request);
    expect(await stream.ended).toMatchObject(invalid);
  });

  it('does not fill memory when the client does not read', async () => {
    const id = await backlog(64, 1_000_000);
    // Google's clients read ahead whatever happens, so this one is made by hand.
    const session = connect(`http://127.0.0.1:${server().address('gcp').port}`);
    const call = session.request({
      ':method': 'POST',
      ':path': '/google.pubsub.v1.Subscriber/StreamingPull',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.pause();
    const first = { subscription: subscriptionName(id), streamAckDeadlineSeconds: 60 };
    const message = toBinary(StreamingPullRequestSchema, create(StreamingPullRequestSchema, first));
    call.write(Buffer.concat([Uint8Array.of(0, 0, 0, 0, message.length), message]));
    const inFlight = () => server().broker.queueStats(channelName(`gcp.sub.${id}`))?.inFlight ?? 0;
    await eventually(() => inFlight() > 0);
    await settled(clients);
    clock.advance(1000);
    await settled(clients);
    expect(inFlight()).toBeLessThan(20);
    call.resume();
    await eventually(() => inFlight() === 64);
    session.destroy();
  });
});
