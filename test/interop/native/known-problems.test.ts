import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { TEXTS } from '../../../src/connectors/native/error-texts.js';
import type { NativeClient } from '../../support/native-client.js';
import { Downstream } from '../../support/native-shapes.js';
import { pass, startNativeServer, until, type NativeServer } from './native-server.js';

/** Bugs that other brokers and their clients had, as tests of the right behaviour. */
let server: NativeServer;
let client: NativeClient;
let clock: ManualClock;
beforeEach(async () => {
  clock = new ManualClock();
  server = await startNativeServer({ clock });
  client = server.client();
});
afterEach(async () => {
  let isStopped = false;
  const stopped = server.stop().finally(() => (isStopped = true));
  // Streams that are still open are cut when their time is over.
  while (!isStopped) await pass(clock, 50);
  await stopped;
});

const text = (body: string) => Buffer.from(body);
const stats = (channel: string) => server.broker.queueStats(channel as never)!;

describe('known problems', () => {
  it("a sender's client id in a tag passes through events as it is (kubemq-go 9)", async () => {
    const live = client.listen({ Channel: 'e' });
    await until(() => server.broker.live.figures().subscribers === 1);
    const Tags = { 'x-kubemq-client-id': 'sender' };
    await client.sendEvent({ Channel: 'e', Body: text('x'), Tags });
    await client.sendEvent({ Channel: 'e', Body: text('x'), Tags, Store: true });
    expect((await live.has(1))[0]!.Tags).toEqual(Tags);
    expect((await client.subscribe({ Channel: 'e' }).has(1))[0]!.Tags).toEqual(Tags);
  });

  it('after a restart, acked messages stay away and unacked old ones come first (nats-streaming 72, 374)', async () => {
    await client.sendBatch(['1', '2', '3'].map((n) => ({ Channel: 'q', Body: text(n) })));
    const stream = client.downstream();
    const { TransactionId, Messages } = await stream.get('q', { MaxItems: 2 });
    await stream.settle(Downstream.ackRange, TransactionId, {
      SequenceRange: [Messages[0]!.Attributes.Sequence],
    });
    const after = await startNativeServer({ image: server.journal.image(), clock });
    const again = after.client();
    await again.send({ Channel: 'q', Body: text('4') });
    const { Messages: left } = await again.receive('q', { max: 10 });
    expect(left.map(({ Body }) => Body.toString())).toEqual(['2', '3', '4']);
    await after.stop();
  });

  it('a second nack of the same delivery is refused and counts nothing (pulsar 6451)', async () => {
    await client.send({ Channel: 'q', Body: text('x') });
    const stream = client.downstream();
    const first = await stream.get('q');
    const SequenceRange = [first.Messages[0]!.Attributes.Sequence];
    await stream.settle(Downstream.nackRange, first.TransactionId, { SequenceRange });
    expect(await stream.settle(Downstream.nackRange, first.TransactionId, { SequenceRange })).toMatchObject({
      IsError: true,
      Error: TEXTS.transactionGone,
    });
    const second = await stream.get('q');
    expect(second.Messages[0]!.Attributes.ReceiveCount).toBe(2);
    expect(stats('q')).toMatchObject({ ready: 0, inFlight: 1 });
  });

  it('a nack may be given back later, so that attempts are not burnt at once (newchat 346)', async () => {
    const Policy = { MaxReceiveCount: 2, MaxReceiveQueue: 'dead' };
    await client.send({ Channel: 'q', Body: text('x'), Policy });
    const stream = client.downstream();
    const first = await stream.get('q');
    const nack = (delay: string, id: string) =>
      stream.settle(Downstream.nackAll, id, {
        Metadata: { 'polymq.confirm': 'true', 'polymq.delay-ms': delay },
      });
    for (const wrong of ['-1', '1.5', 'soon', '', '43200001'])
      expect((await nack(wrong, first.TransactionId)).Error).toMatch(/^polymq.delay-ms must be/);
    expect(stats('q')).toMatchObject({ inFlight: 1 });
    expect(await nack('5000', first.TransactionId)).toMatchObject({ IsError: false });
    expect(stats('q')).toMatchObject({ ready: 0, delayed: 1 });
    await pass(clock, 4_900);
    expect(stats('q')).toMatchObject({ ready: 0, delayed: 1 });
    await pass(clock, 200);
    const second = await stream.get('q');
    expect(second.Messages[0]!.Attributes.ReceiveCount).toBe(2);
    // The last delivery it may have: the delay holds nothing back from the dead-letter queue.
    await nack('5000', second.TransactionId);
    expect(stats('q')).toMatchObject({ ready: 0, delayed: 0, inFlight: 0 });
    expect((await stream.get('dead')).Messages).toHaveLength(1);
  });

  it('a queue with a back-off of its own holds back what native clients nack (redpanda connect 2556)', async () => {
    const settings = { backoff: { minMs: 1000, maxMs: 4000 } };
    await server.broker.change([{ do: 'create-queue', channel: 'q' as never, settings }]);
    await client.send({ Channel: 'q', Body: text('x') });
    const stream = client.downstream();
    for (const waitMs of [1000, 2000, 4000, 4000]) {
      const { TransactionId } = await stream.get('q');
      await stream.settle(Downstream.nackAll, TransactionId);
      await pass(clock, waitMs - 100);
      expect(stats('q')).toMatchObject({ ready: 0, delayed: 1 });
      await pass(clock, 200);
      expect(stats('q')).toMatchObject({ ready: 1, delayed: 0 });
    }
  });

  it('who loses a message by time cannot settle it; who has it now can (bull 308, service bus 589)', async () => {
    await client.send({ Channel: 'q', Body: text('x') });
    const slow = client.streamQueueMessage();
    const receive = { StreamRequestTypeData: 1, ClientID: 'c', Channel: 'q', VisibilitySeconds: 5 };
    const held = await slow.request(receive);
    await pass(clock, 5_100);
    expect((await slow.ended).code).toBe(0);
    const quick = client.streamQueueMessage();
    const taken = await quick.request(receive);
    expect(taken.Message!.Attributes.ReceiveCount).toBe(2);
    const RefSequence = held.Message!.Attributes.Sequence;
    await expect(slow.request({ StreamRequestTypeData: 2, RefSequence })).rejects.toThrow('stream ended');
    expect(stats('q')).toMatchObject({ inFlight: 1 });
    const ack = { StreamRequestTypeData: 2, RefSequence: taken.Message!.Attributes.Sequence };
    expect(await quick.request(ack)).toMatchObject({ IsError: false });
    await until(() => stats('q').inFlight === 0 && stats('q').ready === 0);
  });

  it('names of queues are told exactly (character-set trim)', async () => {
    for (const Channel of ['QUEUES_A.S', 'A.S', '._x', 'S_A.Q'])
      await client.send({ Channel, Body: text('x') });
    const { Queues } = await client.queuesInfo('');
    expect(Queues.map(({ Name }) => Name).sort()).toEqual(['._x', 'A.S', 'QUEUES_A.S', 'S_A.Q']);
    expect((await client.queuesInfo('QUEUES_A.S;._x')).Queues).toHaveLength(2);
  });

  it('a requeued message keeps where it came from, and waits for no delay again', async () => {
    const Policy = { DelaySeconds: 10, ExpirationSeconds: 600 };
    const sent = await client.send({ Channel: 'q', Body: text('x'), Policy });
    await pass(clock, 10_100);
    const stream = client.downstream();
    const { TransactionId } = await stream.get('q');
    await stream.settle(Downstream.reQueueAll, TransactionId, { ReQueueChannel: 'other' });
    const [moved] = (await stream.get('other')).Messages;
    expect(moved!.MessageID).toBe(sent.MessageID);
    expect(moved!.Attributes).toMatchObject({ ReRouted: true, ReRoutedFromQueue: 'q', ReceiveCount: 1 });
  });

  it('AckAll answers at once, whatever it may wait for', async () => {
    await client.sendBatch([
      { Channel: 'q', Body: text('x') },
      { Channel: 'q', Body: text('x'), Policy: { DelaySeconds: 60 } },
    ]);
    // The clock stands still: nothing waited.
    const request = { ClientID: 'c', Channel: 'q', WaitTimeSeconds: 3600 };
    const first = await client.call('AckAllQueueMessages', request);
    expect(first).toMatchObject({ IsError: false, AffectedMessages: '2' });
    expect(await client.call('AckAllQueueMessages', request)).toMatchObject({ AffectedMessages: '0' });
    expect(stats('q')).toMatchObject({ ready: 0, delayed: 0, waiters: 0 });
  });

  it('an unknown management request is answered at once (kubemq-Python 77)', async () => {
    const reply = await client.ask({
      RequestTypeData: 2,
      Channel: 'kubemq.cluster.internal.requests',
      Metadata: 'purge-everything',
      Timeout: 10_000,
    });
    // The clock stands still: nothing waited.
    expect(reply.Executed).toBe(false);
  });
});

describe('what tests of the third generation of clients expect', () => {
  it('a batch of three is pulled at once; a second pull is empty', async () => {
    await client.sendBatch([1, 2, 3].map((n) => ({ Channel: 'b', Body: text(String(n)) })));
    expect((await client.receive('b', { max: 3 })).MessagesReceived).toBe(3);
    const empty = client.receive('b', { max: 3 });
    await until(() => stats('b').waiters === 1);
    await pass(clock, 1_100);
    expect(await empty).toMatchObject({ MessagesReceived: 0, IsError: false });
  });

  it.each([true, false])(
    'a poll that is closed (nacked: %s) gives its message back at once',
    async (isNacked) => {
      await client.send({ Channel: 'c', Body: text('x') });
      const stream = client.downstream();
      const { TransactionId } = await stream.get('c', { MaxItems: 1 });
      if (isNacked) stream.write({ RequestTypeData: Downstream.nackAll, RefTransactionId: TransactionId });
      stream.write({ RequestTypeData: Downstream.closeByClient, RefTransactionId: TransactionId });
      stream.end();
      const again = await client.receive('c');
      expect(again.Messages[0]!.Attributes.ReceiveCount).toBe(2);
    },
  );

  it('a delayed message is not there early, and there when its time has come', async () => {
    await client.send({ Channel: 'd', Body: text('x'), Policy: { DelaySeconds: 3 } });
    const early = client.receive('d');
    await until(() => stats('d').waiters === 1);
    await pass(clock, 1_100);
    expect((await early).Messages).toEqual([]);
    await pass(clock, 2_000);
    expect((await client.receive('d')).Messages).toHaveLength(1);
  });

  it('three nacks and the fourth poll is empty: the dead-letter queue has the message', async () => {
    const Policy = { MaxReceiveCount: 3, MaxReceiveQueue: 'dead' };
    await client.send({ Channel: 'n', Body: text('x'), Policy });
    const stream = client.downstream();
    for (let n = 1; n <= 3; n++) {
      const { TransactionId, Messages } = await stream.get('n');
      expect(Messages[0]!.Attributes.ReceiveCount).toBe(n);
      await stream.settle(Downstream.nackAll, TransactionId);
    }
    const [dead] = (await stream.get('dead')).Messages;
    expect(dead!.Attributes).toMatchObject({ ReRouted: true, ReRoutedFromQueue: 'n', ReceiveCount: 1 });
  });

  it('events reach two subscribers, commands their responder with an error text', async () => {
    const both = [client.listen({ Channel: 'e' }), client.listen({ Channel: 'e' })];
    const serving = client.serve({ Channel: 'rpc', SubscribeTypeData: 3 });
    await until(() => server.broker.live.figures().subscribers === 3);
    await client.sendEvent({ Channel: 'e', Metadata: 'm', Body: text('x'), Tags: { a: 'b' } });
    for (const each of both)
      expect((await each.has(1))[0]).toMatchObject({ Metadata: 'm', Tags: { a: 'b' } });
    const asked = client.ask({ RequestTypeData: 1, Channel: 'rpc', Body: text('x') });
    const [command] = await serving.has(1);
    await client.respond(command!, { Executed: false, Error: 'not today' });
    expect(await asked).toMatchObject({ Executed: false, Error: 'not today' });
  });
});

describe('bodies of 100 MiB', () => {
  it('go through whole; larger ones are refused', async () => {
    const Body = Buffer.alloc(100 * 1024 * 1024, 'x');
    Body.write('end', Body.length - 3);
    expect(await client.send({ Channel: 'big', Body })).toMatchObject({ IsError: false });
    const [message] = (await client.receive('big')).Messages;
    expect(message!.Body.equals(Body)).toBe(true);
    const large = Buffer.alloc(Body.length + 128 * 1024);
    await expect(client.send({ Channel: 'big', Body: large })).rejects.toMatchObject({ code: 8 });
  });
});
