import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, it } from 'vitest';
import { StatusError } from '../../../src/connectors/gcp/errors.js';
import { ErrorInfoSchema } from '../../../src/connectors/gcp/wire/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../src/connectors/gcp/wire/gen/google/rpc/status_pb.js';
import { World, type Pulled } from './fixture.js';
import { Stream, turns } from './stream.js';

/** What went wrong with other servers and clients of Pub/Sub, by where it was told. */

const SECOND = 1000;
const exactly = { enableExactlyOnceDelivery: true };
const ordered = { enableMessageOrdering: true };
const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i));

let world: World;
beforeEach(async () => {
  world = await new World().open();
  await world.topic('top');
});

/** Which id got which code. */
function codesOf(caught: unknown): Readonly<Record<string, string>> {
  if (!(caught instanceof StatusError)) throw caught;
  const bytes = caught.status.trailers?.find(([name]) => name === 'grpc-status-details-bin')?.[1];
  const { details } = fromBinary(StatusSchema, bytes as Uint8Array);
  return anyUnpack(details[0]!, ErrorInfoSchema)?.metadata ?? {};
}

const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (caught: unknown) => caught,
  );

describe('streams', () => {
  it.each([
    { clientId: 'x' },
    { protocolVersion: 1n },
    { maxOutstandingMessages: 5n },
    { maxOutstandingBytes: 5n },
    { subscription: 'projects/p/subscriptions/sub' },
  ])(
    'take only signs of life without what the first request said: %o (pekko-connectors#1624)',
    async (field) => {
      await world.subscription('sub', 'top');
      const stream = new Stream(world, 'sub', { clientId: 'x', protocolVersion: 1n });
      stream.send({});
      expect([stream.failure, stream.responses.length]).toEqual([undefined, 2]);
      stream.send(field);
      expect(stream.failure).toMatchObject({ code: 3 });
    },
  );

  it('say at once that delivery is exactly once, and when that changes (nodejs-pubsub#1646)', async () => {
    await world.subscription('sub', 'top', exactly);
    const stream = new Stream(world, 'sub');
    const said = (): unknown => stream.responses.at(-1)?.subscriptionProperties?.exactlyOnceDeliveryEnabled;
    expect(said()).toBe(true);
    await world.update('sub', { enableExactlyOnceDelivery: false }, ['enable_exactly_once_delivery']);
    stream.send({});
    expect(said()).toBe(false);
    await world.update('sub', exactly, ['enable_exactly_once_delivery']);
    await world.publish('top', 'a');
    await turns();
    expect([stream.texts, said()]).toEqual([['a'], true]);
  });

  it('that end keep their leases, and another one gets the rest (nodejs-pubsub#979)', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a', 'b');
    const first = new Stream(world, 'sub', { maxOutstandingMessages: 1n });
    await turns();
    const [received] = first.responses.flatMap(({ receivedMessages }) => receivedMessages);
    first.close();
    const second = new Stream(world, 'sub');
    await turns();
    expect([first.texts, second.texts]).toEqual([['a'], ['b']]);
    await world.ack('sub', received!.ackId);
    world.clock.advance(9 * SECOND);
    await turns();
    expect(second.texts).toEqual(['b']);
  });

  it('give each message once to a slow client that takes one at a time and extends (python-pubsub#30)', async () => {
    await world.subscription('sub', 'top');
    const stream = new Stream(world, 'sub', { maxOutstandingMessages: 1n });
    for (const text of numbers(4)) await world.publish('top', text);
    for (let n = 0; n < 4; n++) {
      await turns();
      const received = stream.responses.flatMap(({ receivedMessages }) => receivedMessages).at(-1)!;
      for (let extended = 0; extended < 3; extended++) {
        await world.modify('sub', 10, received.ackId);
        world.clock.advance(9 * SECOND);
        await turns();
      }
      await world.ack('sub', received.ackId);
    }
    world.clock.advance(60 * SECOND);
    await turns();
    expect(stream.texts).toEqual(numbers(4));
  });
});

describe('ordering', () => {
  it('holds for 100 messages of a key with exactly-once delivery (java-pubsub#1889)', async () => {
    await world.subscription('sub', 'top', { ...ordered, ...exactly });
    await world.publish('top', ...numbers(100).map((text) => `${text}@key`));
    const stream = new Stream(world, 'sub');
    for (let n = 0; n < 100; n++) {
      await turns();
      const all = stream.responses.flatMap(({ receivedMessages }) => receivedMessages);
      expect(all).toHaveLength(n + 1);
      await world.modify('sub', 60, all.at(-1)!.ackId);
      await world.ack('sub', all.at(-1)!.ackId);
    }
    expect(stream.texts).toEqual(numbers(100));
  });

  it('goes on after a nack with exactly-once delivery (nodejs-pubsub#1708)', async () => {
    await world.subscription('sub', 'top', { ...ordered, ...exactly });
    await world.publish('top', 'a@key', 'b@key', 'c@key');
    const [first] = await world.pull('sub');
    await world.nack('sub', first!);
    expect(await world.drain('sub')).toEqual(['a', 'b', 'c']);
  });

  it('holds with a filter (yoshidan/google-cloud-rust#300)', async () => {
    await world.subscription('sub', 'top', { ...ordered, filter: 'attributes.take = "yes"' });
    for (const [i, text] of numbers(20).entries()) {
      const attributes = { take: i % 3 === 0 ? 'no' : 'yes' };
      await world.publishMessage('top', { data: Buffer.from(text), attributes, orderingKey: `k${i % 2}` });
    }
    const texts = await world.drain('sub');
    for (const key of [0, 1]) {
      const own = texts.filter((text) => Number(text) % 2 === key);
      expect(own).toEqual(numbers(20).filter((_, i) => i % 2 === key && i % 3 !== 0));
    }
  });

  it('never has two messages of a key in one Pull (cloudemu#1063)', async () => {
    await world.subscription('sub', 'top', ordered);
    await world.publish('top', 'a@k', 'b@k', 'c@other', 'd@k');
    expect((await world.pull('sub')).map(({ data }) => data).sort()).toEqual(['a', 'c']);
    expect(await world.pull('sub')).toEqual([]);
  });
});

describe('exactly-once delivery', () => {
  const pulled = async (): Promise<readonly Pulled[]> => {
    await world.subscription('sub', 'top', exactly);
    await world.publish('top', 'a', 'b');
    return world.pull('sub');
  };

  it('tells of each lease whether it was extended (nodejs-pubsub#1547)', async () => {
    const [a, b] = await pulled();
    await world.ack('sub', a!);
    const caught = await failure(world.modify('sub', 60, a!, b!));
    expect(codesOf(caught)).toEqual({
      [a!.ackId]: 'PERMANENT_FAILURE_INVALID_ACK_ID',
      [b!.ackId]: 'TRANSIENT_FAILURE_SERVICE_UNAVAILABLE',
    });
    world.clock.advance(50 * SECOND);
    expect(await world.pull('sub')).toEqual([]);
  });

  it('refuses the receipt of a message that came too late, which then belongs to whoever got it (java-pubsub#2555)', async () => {
    const [late] = await pulled();
    world.clock.advance(11 * SECOND);
    expect(codesOf(await failure(world.modify('sub', 60, late!)))).toHaveProperty([late!.ackId]);
    const again = await world.pull('sub');
    const next = again.find(({ data }) => data === late!.data)!;
    expect(codesOf(await failure(world.ack('sub', late!)))).toHaveProperty([late!.ackId]);
    await world.ack('sub', next);
    world.clock.advance(60 * SECOND);
    expect((await world.pull('sub')).map(({ data }) => data)).not.toContain(late!.data);
  });
});

describe('updates', () => {
  it('leave the filter as it is, with a mask and without (floci-gcp#110)', async () => {
    const filter = 'attributes:a';
    await world.subscription('sub', 'top', { filter });
    for (const paths of [['filter'], ['filter', 'labels'], []]) {
      await expect(world.update('sub', { filter: '', labels: { x: 'y' } }, paths)).rejects.toMatchObject({
        kind: 'invalid-argument',
      });
    }
    expect(await world.get('sub')).toMatchObject({ filter, labels: {} });
  });

  it.each([
    ['retry_policy', { retryPolicy: { minimumBackoff: { seconds: 1n } } }],
    ['enable_exactly_once_delivery', exactly],
  ])('know %s (nodejs-pubsub#1029, google-cloud-go#5939)', async (path, fields) => {
    await world.subscription('sub', 'top');
    expect(await world.update('sub', fields, [path])).toMatchObject(fields);
  });
});
