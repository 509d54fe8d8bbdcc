import { beforeEach, describe, expect, it } from 'vitest';
import { subscriptionName, topicName, World } from './fixture.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

let world: World;
beforeEach(async () => {
  world = await new World().open();
  await world.topic('top');
});

async function publishEverySecond(...texts: string[]): Promise<number[]> {
  const times: number[] = [];
  for (const text of texts) {
    world.clock.advance(SECOND);
    times.push(world.clock.now());
    await world.publish('top', text);
  }
  world.clock.advance(SECOND);
  return times;
}

describe('seek to a time', () => {
  it('keeps what is unacknowledged and was published since; acknowledged messages are gone', async () => {
    await world.subscription('sub', 'top');
    const times = await publishEverySecond('a', 'b', 'c');
    await world.ack('sub', (await world.pull('sub'))[2]!);
    await world.seek('sub', times[1]!);
    expect(await world.drain('sub')).toEqual(['b']);
  });

  it('brings acknowledged messages back when the subscription retains them', async () => {
    await world.subscription('sub', 'top', { retainAckedMessages: true });
    const times = await publishEverySecond('a', 'b', 'c');
    await world.drain('sub');
    await world.seek('sub', times[1]!);
    expect(await world.drain('sub')).toEqual(['b', 'c']);
    await world.restart();
    await world.seek('sub', 0);
    expect(await world.drain('sub')).toEqual(['a', 'b', 'c']);
  });

  it('reaches back before the subscription when the topic retains', async () => {
    await world.topic('kept', { messageRetentionDuration: { seconds: 600n } });
    await world.publish('kept', 'old');
    world.clock.advance(601 * SECOND);
    await world.publish('kept', 'new');
    await world.subscription('sub', 'kept');
    await world.seek('sub', 0);
    expect(await world.drain('sub')).toEqual(['new']);
  });

  it('looks at the filter again', async () => {
    await world.subscription('sub', 'top', { filter: 'attributes.a = "1"', retainAckedMessages: true });
    for (const a of ['1', '2', '1'])
      await world.publishMessage('top', { data: Buffer.from(a), attributes: { a } });
    await world.drain('sub');
    await world.seek('sub', 0);
    expect(await world.drain('sub')).toEqual(['1', '1']);
  });

  it('keeps the order of keys', async () => {
    await world.subscription('sub', 'top', { enableMessageOrdering: true, retainAckedMessages: true });
    await world.publish('top', '1@k', '2@k', '3@k', '1@l');
    const [first] = await world.pull('sub');
    await world.ack('sub', first!);
    await world.seek('sub', 0);
    const seen: string[] = [];
    for (;;) {
      const pulled = await world.pull('sub', 1);
      if (pulled.length === 0) break;
      if (pulled[0]!.key === 'k') seen.push(pulled[0]!.data);
      await world.ack('sub', ...pulled);
    }
    expect(seen).toEqual(['1', '2', '3']);
  });

  it('now ends everything, leases too', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a', 'b');
    const [out] = await world.pull('sub', 1);
    await world.seek('sub', world.clock.now());
    await world.nack('sub', out!);
    world.clock.advance(11 * SECOND);
    expect(await world.pull('sub')).toEqual([]);
    await world.publish('top', 'c');
    expect(await world.drain('sub')).toEqual(['c']);
  });

  it('to come ends what is there, and nothing that is published later', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'before');
    await world.seek('sub', Date.UTC(3000, 0));
    await world.publish('top', 'after');
    expect(await world.drain('sub')).toEqual(['after']);
    await world.publish('top', 'before');
    await world.seek('sub', world.clock.now() + HOUR);
    await world.restart();
    await world.publish('top', 'after');
    expect(await world.drain('sub')).toEqual(['after']);
  });

  it('brings back so many at most, the newest', async () => {
    world = await new World({ maxSeekReplay: 2 }).open();
    await world.topic('top');
    await world.subscription('sub', 'top', { retainAckedMessages: true });
    await world.publish('top', 'a', 'b', 'c');
    await world.drain('sub');
    await world.seek('sub', 0);
    expect(await world.drain('sub')).toEqual(['b', 'c']);
  });

  it('asks for one of both, and for a subscription that is attached', async () => {
    await world.subscription('sub', 'top');
    const bare = { subscription: subscriptionName('sub'), target: { case: undefined } };
    await expect(world.call('seek', bare)).rejects.toMatchObject({ kind: 'invalid-argument' });
    await expect(world.seek('sub', 'none')).rejects.toMatchObject({ kind: 'not-found' });
    await expect(world.seek('none', 0)).rejects.toMatchObject({ kind: 'not-found' });
    await world.call('detachSubscription', { subscription: subscriptionName('sub') });
    await expect(world.seek('sub', 0)).rejects.toMatchObject({ kind: 'precondition' });
  });

  it('of a deleted topic keeps what there is of it', async () => {
    await world.subscription('sub', 'top');
    const times = await publishEverySecond('a', 'b');
    await world.call('deleteTopic', { topic: topicName('top') });
    await world.seek('sub', times[1]!);
    expect(await world.drain('sub')).toEqual(['b']);
  });
});

describe('snapshots', () => {
  it('hold exactly what was unacknowledged, out of order or not, and all that comes later', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a', 'b', 'c', 'd');
    const pulled = await world.pull('sub');
    await world.ack('sub', pulled[1]!, pulled[3]!);
    await world.snapshot('snap', 'sub');
    await world.publish('top', 'e');
    await world.restart();
    world.clock.advance(11 * SECOND);
    expect(await world.drain('sub')).toEqual(['a', 'c', 'e']);
    for (let round = 0; round < 2; round++) {
      await world.seek('sub', 'snap');
      expect(await world.drain('sub')).toEqual(['a', 'c', 'e']);
    }
  });

  it('serve every subscription of their topic, and no other', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a', 'b');
    await world.ack('sub', (await world.pull('sub'))[0]!);
    await world.snapshot('snap', 'sub');
    await world.subscription('later', 'top', { filter: 'attributes:x' });
    await world.subscription('other', 'top');
    await world.seek('other', 'snap');
    expect(await world.drain('other')).toEqual(['b']);
    await world.seek('later', 'snap');
    expect(await world.drain('later')).toEqual([]);
    await world.topic('elsewhere');
    await world.subscription('stranger', 'elsewhere');
    await expect(world.seek('stranger', 'snap')).rejects.toMatchObject({ kind: 'precondition' });
    // A new topic of the name is another topic.
    await world.call('deleteTopic', { topic: topicName('top') });
    world.clock.advance(1);
    await world.topic('top');
    await world.subscription('new', 'top');
    await expect(world.seek('new', 'snap')).rejects.toMatchObject({ kind: 'precondition' });
  });

  it('live for a week from their oldest message, and are gone then', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'old');
    world.clock.advance(DAY);
    const { expireTime } = await world.snapshot('snap', 'sub');
    expect(Number(expireTime?.seconds) * 1000).toBe(Math.floor((world.clock.now() + 6 * DAY) / 1000) * 1000);
    await expect(world.snapshot('snap', 'sub')).rejects.toMatchObject({ kind: 'already-exists' });
    world.clock.advance(6 * DAY);
    await expect(world.seek('sub', 'snap')).rejects.toMatchObject({ kind: 'not-found' });
    await world.services.snapshots.sweep();
    expect(world.broker.registry.list('gcp.snapshot')).toEqual([]);
    await world.snapshot('snap', 'sub');
  });

  it('are refused when they would not live for an hour', async () => {
    await world.subscription('sub', 'top', { messageRetentionDuration: { seconds: BigInt(31 * 24 * 3600) } });
    await world.publish('top', 'old');
    world.clock.advance(7 * DAY - HOUR + 1);
    await expect(world.snapshot('snap', 'sub')).rejects.toMatchObject({ kind: 'precondition' });
  });

  it('of a backlog with many holes are stored in parts', async () => {
    await world.subscription('sub', 'top');
    const { encodeRuns, decodeRuns } = await import('../../../src/connectors/gcp/registry/unacked.js');
    let random = 7;
    const runs: number[] = [];
    for (let at = 1, i = 0; i < 500_000; i++) {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 1;
      const length = 1 + (random % 97);
      runs.push(at, length);
      at += length + 1 + ((random >>> 8) % 89);
    }
    const parts = encodeRuns(runs);
    expect(parts.length).toBeGreaterThan(1);
    // As bytes: a matcher takes seconds for a million numbers.
    const bytes = (numbers: readonly number[]): Buffer => Buffer.from(Float64Array.from(numbers).buffer);
    expect(bytes(decodeRuns(parts.join(''))).equals(bytes(runs))).toBe(true);
    await world.broker.change(
      world.services.snapshots.creation('big-snap', runs, {
        createdAt: 0,
        topicId: 'top',
        topicCreatedAt: 0,
        upTo: 1,
        resource: { name: 'x' },
      }),
    );
    await world.restart();
    const info = world.services.snapshots.find('big-snap')!;
    expect(bytes(world.services.snapshots.unackedOf(info)).equals(bytes(runs))).toBe(true);
    await world.broker.change(world.services.snapshots.deletion(info));
    expect(world.broker.registry.list('gcp.snapshot-part')).toEqual([]);
  });
});
