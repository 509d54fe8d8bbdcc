import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, it } from 'vitest';
import { StatusError } from '../../../src/connectors/gcp/errors.js';
import { ErrorInfoSchema } from '../../../src/connectors/gcp/wire/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../src/connectors/gcp/wire/gen/google/rpc/status_pb.js';
import { subscriptionName, topicName, World } from './fixture.js';

const SECOND = 1000;
const DAY_SECONDS = 24 * 3600;

let world: World;
beforeEach(async () => {
  world = await new World().open();
  await world.topic('top');
});

describe('leases', () => {
  it('last as long as was said and give back what is not acknowledged', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a', 'b');
    const [one, two] = await world.pull('sub');
    await world.modify('sub', 60, two!);
    world.clock.advance(9 * SECOND);
    expect(await world.pull('sub')).toEqual([]);
    world.clock.advance(1.3 * SECOND);
    expect((await world.pull('sub')).map(({ data }) => data)).toEqual(['a']);
    await world.ack('sub', one!, two!);
    world.clock.advance(60 * SECOND);
    expect(await world.drain('sub')).toEqual(['a']);
  });

  it('take no deadline of 1 to 9 seconds, nor one beyond 600', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a');
    const pulled = await world.pull('sub');
    for (const seconds of [-1, 1, 9, 601]) {
      await expect(world.modify('sub', seconds, ...pulled)).rejects.toMatchObject({
        kind: 'invalid-argument',
      });
    }
    await world.modify('sub', 10, ...pulled);
  });
});

describe('the bound on leases', () => {
  it('lets Pull go on when leases that nobody acknowledged have run out', async () => {
    const bounded = await new World({ maxInflightPerSubscription: 2 }).open();
    await bounded.topic('top');
    await bounded.subscription('sub', 'top');
    await bounded.publish('top', 'a', 'b', 'c');
    expect(await bounded.pull('sub')).toHaveLength(2);
    expect(await bounded.pull('sub')).toEqual([]);
    expect(await bounded.pull('sub')).toEqual([]);
    bounded.clock.advance(11 * SECOND);
    expect(await bounded.pull('sub')).toHaveLength(2);
  });
});

describe('retry policy', () => {
  it('holds back what was given back and what ran out, twice as long each time', async () => {
    await world.subscription('sub', 'top', {
      retryPolicy: { minimumBackoff: { seconds: 2n }, maximumBackoff: { seconds: 5n } },
    });
    await world.publish('top', 'a');
    for (const wait of [2, 4, 5, 5]) {
      await world.nack('sub', ...(await world.pull('sub')));
      world.clock.advance(wait * SECOND - 1);
      expect(await world.pull('sub')).toEqual([]);
      world.clock.advance(1);
      expect(
        world.broker.queueStats(world.services.subscriptions.require(subscriptionName('sub')).name),
      ).toMatchObject({
        ready: 1,
      });
    }
    await world.pull('sub');
    world.clock.advance(10 * SECOND + 300);
    expect(await world.pull('sub')).toEqual([]);
    world.clock.advance(5 * SECOND);
    expect(await world.pull('sub')).toHaveLength(1);
  });

  it('holds the whole ordering key, and others not', async () => {
    await world.subscription('sub', 'top', { enableMessageOrdering: true, retryPolicy: {} });
    await world.publish('top', '1@a', '2@a', '1@b');
    const pulled = await world.pull('sub');
    expect(pulled.map(({ data, key }) => data + key)).toEqual(['1a', '1b']);
    await world.nack('sub', pulled[0]!);
    await world.ack('sub', pulled[1]!);
    expect(await world.pull('sub')).toEqual([]);
    world.clock.advance(10 * SECOND);
    expect(await world.drain('sub')).toEqual(['1', '2']);
    const { retryPolicy } = await world.get('sub');
    expect(retryPolicy?.maximumBackoff?.seconds).toBe(600n);
  });

  it('without one a message is back at once', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a');
    await world.nack('sub', ...(await world.pull('sub')));
    expect(await world.pull('sub')).toHaveLength(1);
  });
});

describe('dead letters', () => {
  const policy = { deadLetterPolicy: { deadLetterTopic: topicName('dead') } };

  beforeEach(async () => {
    await world.topic('dead');
    await world.subscription('letters', 'dead');
  });

  it('are forwarded after their last attempt, with where they come from', async () => {
    await world.subscription('sub', 'top', policy);
    await world.publishMessage('top', { data: Buffer.from('x'), attributes: { a: 'b' }, orderingKey: 'k' });
    const published = world.clock.now();
    for (let attempt = 1; attempt <= 5; attempt++) {
      const pulled = await world.pull('sub');
      expect(pulled.map((message) => message.attempt)).toEqual([attempt]);
      if (attempt % 2 === 0) world.clock.advance(10 * SECOND + 300);
      else await world.nack('sub', ...pulled);
    }
    expect(await world.pull('sub')).toEqual([]);
    await world.restart();
    expect(await world.pull('sub')).toEqual([]);
    expect(await world.pull('letters')).toMatchObject([
      {
        data: 'x',
        key: 'k',
        attempt: 0,
        attributes: {
          a: 'b',
          CloudPubSubDeadLetterSourceDeliveryCount: '5',
          CloudPubSubDeadLetterSourceSubscription: 'sub',
          CloudPubSubDeadLetterSourceSubscriptionProject: 'p',
          CloudPubSubDeadLetterSourceTopicPublishTime: new Date(published).toISOString(),
        },
      },
    ]);
    // Its log has it, too: others may read it, and subscriptions be set back to it.
    expect(world.broker.logStats('gcp.dead' as never)?.events).toBe(1);
  });

  it('let go of their ordering key', async () => {
    await world.subscription('sub', 'top', { ...policy, enableMessageOrdering: true });
    await world.publish('top', '1@k', '2@k');
    for (let attempt = 1; attempt <= 5; attempt++) await world.nack('sub', ...(await world.pull('sub')));
    expect(await world.pull('sub')).toMatchObject([{ data: '2', attempt: 1 }]);
    await world.publish('top', '3@k');
    world.clock.advance(11 * SECOND);
    expect(await world.drain('sub')).toEqual(['2', '3']);
  });

  it('stay when their topic is gone, and its name says so', async () => {
    await world.subscription('sub', 'top', policy);
    await world.publish('top', 'x');
    await world.call('deleteTopic', { topic: topicName('dead') });
    for (let attempt = 1; attempt <= 6; attempt++) await world.nack('sub', ...(await world.pull('sub')));
    expect((await world.get('sub')).deadLetterPolicy).toMatchObject({
      deadLetterTopic: '_deleted-topic_',
      maxDeliveryAttempts: 5,
    });
    await world.update('sub', { labels: { a: 'b' } }, ['labels']);
    await world.update('sub', {}, ['dead_letter_policy']);
    expect((await world.get('sub')).deadLetterPolicy).toBeUndefined();
    expect(await world.pull('sub')).toMatchObject([{ data: 'x', attempt: 0 }]);
  });

  it('need a topic that exists and 5 to 100 attempts', async () => {
    const create = (maxDeliveryAttempts: number, deadLetterTopic = topicName('dead')): Promise<unknown> =>
      world.subscription('sub', 'top', { deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts } });
    for (const attempts of [-1, 4, 101])
      await expect(create(attempts)).rejects.toMatchObject({ kind: 'invalid-argument' });
    await expect(create(5, topicName('none'))).rejects.toMatchObject({ kind: 'not-found' });
    await expect(create(5, '')).rejects.toMatchObject({ kind: 'invalid-argument' });
    await create(0);
    expect((await world.get('sub')).deadLetterPolicy?.maxDeliveryAttempts).toBe(5);
  });
});

describe('exactly-once delivery', () => {
  beforeEach(() => world.subscription('sub', 'top', { enableExactlyOnceDelivery: true }));

  /** Codes by ack id, of each detail, with its reason. */
  function told(caught: unknown): readonly (readonly [string, Readonly<Record<string, string>>])[] {
    if (!(caught instanceof StatusError)) throw caught;
    const [, bytes] = caught.status.trailers?.[0] ?? [];
    const { details } = fromBinary(StatusSchema, bytes as Uint8Array);
    return details.map((any) => {
      const info = anyUnpack(any, ErrorInfoSchema);
      return [info?.reason ?? '', info?.metadata ?? {}];
    });
  }

  it('says which acknowledgements came too late, for clients that read either detail', async () => {
    await world.publish('top', 'a', 'b');
    const [one, two] = await world.pull('sub');
    world.clock.advance(10 * SECOND + 300);
    const caught = await world.ack('sub', one!).catch((error: unknown) => error);
    expect(caught).toMatchObject({ status: { code: 9 } });
    const map = { [one!.ackId]: 'PERMANENT_FAILURE_INVALID_ACK_ID' };
    expect(told(caught)).toEqual([
      ['PERMANENT_FAILURE_INVALID_ACK_ID', map],
      ['EXACTLY_ONCE_ACKID_FAILURE', map],
    ]);
    await expect(world.modify('sub', 60, two!)).rejects.toBeInstanceOf(StatusError);
    expect(await world.pull('sub')).toHaveLength(2);
  });

  it('settles the good ones of a mixed call, and takes them again', async () => {
    await world.publish('top', 'a', 'b');
    const [one, two] = await world.pull('sub');
    const caught = await world.ack('sub', one!, 'garbage', two!).catch((error: unknown) => error);
    expect(told(caught)[0]?.[1]).toEqual({
      garbage: 'PERMANENT_FAILURE_INVALID_ACK_ID',
      [one!.ackId]: 'TRANSIENT_FAILURE_SERVICE_UNAVAILABLE',
      [two!.ackId]: 'TRANSIENT_FAILURE_SERVICE_UNAVAILABLE',
    });
    await world.ack('sub', one!, two!);
    world.clock.advance(11 * SECOND);
    expect(await world.pull('sub')).toEqual([]);
    world.clock.advance(10 * 60 * SECOND);
    await expect(world.ack('sub', one!)).rejects.toBeInstanceOf(StatusError);
  });

  it('extends from now, under the same id', async () => {
    await world.publish('top', 'a');
    const [one] = await world.pull('sub');
    for (let i = 0; i < 5; i++) {
      world.clock.advance(9 * SECOND);
      await world.modify('sub', 10, one!);
    }
    await world.ack('sub', one!);
    await expect(world.modify('sub', 10, one!)).rejects.toBeInstanceOf(StatusError);
  });

  it('settles no more than its answer has room to name', async () => {
    for (let i = 0; i < 60; i++) await world.publish('top', `m${i}`);
    const pulled = await world.pull('sub');
    const caught = await world.ack('sub', 'garbage', ...pulled).catch((error: unknown) => error);
    const named = Object.keys(told(caught)[0]?.[1] ?? {}).length;
    expect(named).toBeLessThan(60);
    world.clock.advance(11 * SECOND);
    expect(await world.pull('sub')).toHaveLength(60 - (named - 1));
  });
});

describe('expiration', () => {
  it('takes subscriptions that nobody used, and no others', async () => {
    const { expireSubscriptions } = await import('../../../src/connectors/gcp/subscriber/expiration.js');
    const ttl = { seconds: BigInt(DAY_SECONDS) };
    await world.subscription('idle', 'top', { expirationPolicy: { ttl } });
    await world.subscription('used', 'top', { expirationPolicy: { ttl } });
    await world.subscription('never', 'top', { expirationPolicy: {} });
    for (let hour = 0; hour < 30; hour++) {
      world.clock.advance(3600 * SECOND);
      await world.pull('used');
      await expireSubscriptions(world.services);
    }
    await expect(world.get('idle')).rejects.toMatchObject({ kind: 'not-found' });
    // A restart is no use.
    await world.restart();
    world.clock.advance(20 * 3600 * SECOND);
    await expireSubscriptions(world.services);
    await world.get('used');
    world.clock.advance(5 * 3600 * SECOND);
    await expireSubscriptions(world.services);
    await expect(world.get('used')).rejects.toMatchObject({ kind: 'not-found' });
    await world.get('never');
  });
});
