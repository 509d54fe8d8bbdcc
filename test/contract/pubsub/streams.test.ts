import { describe, expect, it, vi } from 'vitest';
import { subscriptionName, World } from './fixture.js';
import { Stream, turns } from './stream.js';

async function worldWith(config: ConstructorParameters<typeof World>[0]): Promise<World> {
  const world = await new World(config).open();
  await world.topic('top');
  await world.subscription('sub', 'top');
  return world;
}

describe('idle streams', () => {
  /** Timers set and questions asked in ten minutes in which nothing happens. */
  async function workWith(streams: number): Promise<readonly number[]> {
    const world = await worldWith({});
    // Each has had its messages, and their leases have ended one way or the other.
    const open = Array.from({ length: streams }, () => new Stream(world, 'sub'));
    await world.publish('top', 'a', 'b');
    await turns();
    expect(open.flatMap(({ texts }) => texts).sort()).toEqual(['a', 'b']);
    const [ackId = ''] = open.flatMap(({ responses }) =>
      responses.flatMap(({ receivedMessages }) => receivedMessages.map((received) => received.ackId)),
    );
    await world.ack('sub', ackId);
    for (const stream of open) {
      const left = stream.responses.flatMap(({ receivedMessages }) => receivedMessages);
      for (const received of left) if (received.ackId !== ackId) await world.ack('sub', received.ackId);
    }
    world.clock.advance(60_000);
    await turns();
    const timers = vi.spyOn(world.clock, 'after');
    const questions = vi.spyOn(world.broker, 'queueStats');
    const topUps = [...world.services.subscriptions.require(subscriptionName('sub')).streams].map((stream) =>
      vi.spyOn(stream, 'topUp'),
    );
    for (let second = 0; second < 600; second++) {
      world.clock.advance(1000);
      await Promise.resolve();
    }
    await turns();
    expect(topUps).toHaveLength(streams);
    const asked = topUps.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    return [timers.mock.calls.length, questions.mock.calls.length, asked];
  }

  it('cost no work, however many they are', async () => {
    const one = await workWith(1);
    expect(await workWith(500)).toEqual(one);
    expect(one.slice(1)).toEqual([0, 0]);
  });
});

describe('the bound of a subscription', () => {
  it('lets a stream go on when the leases of Pull calls have run out', async () => {
    const world = await worldWith({ maxInflightPerSubscription: 2 });
    await world.publish('top', 'a', 'b', 'c');
    expect(await world.pull('sub')).toHaveLength(2);
    const stream = new Stream(world, 'sub');
    await turns();
    expect(stream.texts).toEqual([]);
    world.clock.advance(9000);
    await turns();
    expect(stream.texts).toEqual([]);
    world.clock.advance(2000);
    await turns();
    expect(stream.texts).toHaveLength(2);
  });

  it('lets a stream have what another gave up', async () => {
    const world = await worldWith({ maxInflightPerSubscription: 4 });
    const [one, two] = [new Stream(world, 'sub'), new Stream(world, 'sub')];
    two.close();
    await world.publish('top', 'a', 'b', 'c', 'd', 'e');
    await turns();
    world.clock.advance(300);
    await turns();
    expect(one.texts).toEqual(['a', 'b', 'c', 'd']);
  });

  it('gives the room of a lease back when it ends, to the stream that held it', async () => {
    const world = await worldWith({ maxOutstandingMessages: 1 });
    await world.publish('top', 'a', 'b');
    const stream = new Stream(world, 'sub');
    await turns();
    expect(stream.texts).toEqual(['a']);
    world.clock.advance(10_000);
    await turns();
    world.clock.advance(300);
    await turns();
    expect(stream.texts).toHaveLength(2);
  });
});

describe('the flow control of a stream', () => {
  const bodies = async (world: World, count: number, bytes: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      await world.publishMessage('top', { data: Buffer.alloc(bytes, 'x'), attributes: { n: String(i) } });
    }
  };

  it('holds at most the messages that the client asked for, and a thousand without', async () => {
    const world = await worldWith({});
    const all = Array.from({ length: 1200 }, (_, i) => ({ data: Buffer.from(String(i)) }));
    await world.publishTogether('top', all.slice(0, 1000));
    await world.publishTogether('top', all.slice(1000));
    const two = new Stream(world, 'sub', { maxOutstandingMessages: 2n });
    await turns();
    expect(two.texts).toHaveLength(2);
    two.close();
    const many = new Stream(world, 'sub', { maxOutstandingMessages: 5000n });
    await turns();
    expect(many.texts).toHaveLength(1000);
  });

  it('holds at most the bytes that the client asked for, and one message in any case', async () => {
    const world = await worldWith({});
    await bodies(world, 6, 1000);
    const some = new Stream(world, 'sub', { maxOutstandingBytes: 2500n });
    await turns();
    expect(some.texts).toHaveLength(3);
    some.close();
    const one = new Stream(world, 'sub', { maxOutstandingBytes: 10n });
    await turns();
    expect(one.texts).toHaveLength(1);
  });

  it('hands a peer that does not read no more than the window', async () => {
    const world = await worldWith({});
    await bodies(world, 24, 1024 * 1024);
    const slow = new Stream(world, 'sub', {}, false);
    await turns();
    const taken = slow.texts.length;
    expect(taken).toBe(8);
    for (const read of slow.unread.splice(0)) read();
    await turns();
    expect(slow.texts.length).toBeGreaterThan(taken);
  });
});

describe('a stream that ends', () => {
  const receivedBy = (stream: Stream) => stream.responses.flatMap(({ receivedMessages }) => receivedMessages);

  /** A client that confirms what it receives, but has not got to the last message when its stream ends. */
  async function endWithUnseen(world: World): Promise<void> {
    const stream = new Stream(world, 'sub', { streamAckDeadlineSeconds: 60 });
    await world.publish('top', 'seen');
    await turns();
    await world.modify('sub', 60, ...receivedBy(stream).map(({ ackId }) => ackId));
    world.clock.advance(5000);
    await world.publish('top', 'unseen');
    await turns();
    expect(stream.texts).toEqual(['seen', 'unseen']);
    stream.close();
  }

  it('keeps what its client confirmed, and soon gives back what it cannot have seen', async () => {
    const world = await worldWith({});
    await endWithUnseen(world);
    expect(await world.pull('sub')).toEqual([]);
    world.clock.advance(1300);
    expect((await world.pull('sub')).map(({ data }) => data)).toEqual(['unseen']);
    world.clock.advance(40_000);
    expect((await world.pull('sub')).map(({ data }) => data)).toEqual(['unseen']);
  });

  it('lets a confirmation that was on its way come in', async () => {
    const world = await worldWith({});
    const stream = new Stream(world, 'sub', { streamAckDeadlineSeconds: 60 });
    await world.publish('top', 'a', 'b');
    await turns();
    const [a, b] = receivedBy(stream).map(({ ackId }) => ackId);
    await world.modify('sub', 60, a!);
    stream.close();
    world.clock.advance(900);
    await world.modify('sub', 60, b!);
    world.clock.advance(50_000);
    expect(await world.pull('sub')).toEqual([]);
  });

  it('lets leases run on for a client that confirms nothing, or not everything', async () => {
    const world = await worldWith({});
    const silent = new Stream(world, 'sub', { streamAckDeadlineSeconds: 60 });
    await world.publish('top', 'a');
    await turns();
    silent.close();
    const choosy = new Stream(world, 'sub', { streamAckDeadlineSeconds: 60 });
    await world.publish('top', 'b', 'c');
    await turns();
    await world.modify('sub', 60, receivedBy(choosy)[0]!.ackId);
    world.clock.advance(3000);
    await world.publish('top', 'd');
    await turns();
    choosy.close();
    world.clock.advance(50_000);
    expect(await world.pull('sub')).toEqual([]);
  });

  it('gives back an ordered message, before what follows it', async () => {
    const world = await new World().open();
    await world.topic('top');
    await world.subscription('sub', 'top', { enableMessageOrdering: true });
    const stream = new Stream(world, 'sub', { streamAckDeadlineSeconds: 60 });
    await world.publish('top', 'other', '1@k', '2@k');
    await turns();
    const [other] = receivedBy(stream);
    await world.modify('sub', 60, other!.ackId);
    stream.close();
    world.clock.advance(1300);
    expect(await world.drain('sub')).toEqual(['1', '2']);
  });
});

describe('thousands of streams', () => {
  it('each get their share, and others the rest when some are gone', async () => {
    const [streams, each] = [2000, 3];
    const world = await worldWith({});
    const open = Array.from({ length: streams }, () => new Stream(world, 'sub'));
    await turns();
    for (let round = 1; round <= each; round++) {
      for (let sent = 0; sent < streams; sent += 1000) {
        await world.publishTogether(
          'top',
          Array.from({ length: 1000 }, (_, i) => ({ data: Buffer.from(`${round}-${sent + i}`) })),
        );
      }
      await turns();
      expect(new Set(open.map(({ texts }) => texts.length))).toEqual(new Set([round]));
    }
    expect(new Set(open.flatMap(({ texts }) => texts)).size).toBe(streams * each);
    for (const stream of open.slice(1)) stream.close();
    await world.publish('top', 'last');
    await turns();
    expect(open[0]?.texts.at(-1)).toBe('last');
  });
});
