import { create } from '@bufbuild/protobuf';
import { beforeEach, describe, expect, it } from 'vitest';
import { expireSubscriptions } from '../../../src/connectors/gcp/subscriber/expiration.js';
import * as pubsub from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { subscriptionName, topicName, World } from './fixture.js';
import { Stream, turns } from './stream.js';

/** What people met on Google's emulator and other stand-ins of Pub/Sub, by where it was told. */

const SECOND = 1000;
const DAY = 86_400 * SECOND;
const invalid = { kind: 'invalid-argument' };

let world: World;
beforeEach(async () => {
  world = await new World().open();
  await world.topic('top');
});

const updateTopic = (fields: object, paths: string[]): Promise<pubsub.Topic> =>
  world.call(
    'updateTopic',
    create(pubsub.UpdateTopicRequestSchema, {
      topic: { name: topicName('top'), ...fields },
      updateMask: { paths },
    }),
  );

describe('what a subscription says of itself', () => {
  it('always has a push config, and never an export it does not have (kafka-pubsub-emulator#9, google-cloud-go#8066)', async () => {
    await world.subscription('sub', 'top');
    const { pushConfig, bigqueryConfig, cloudStorageConfig, deadLetterPolicy, retryPolicy } =
      await world.get('sub');
    expect(pushConfig).toMatchObject({ pushEndpoint: '' });
    expect([bigqueryConfig, cloudStorageConfig, deadLetterPolicy, retryPolicy]).toEqual(
      Array(4).fill(undefined),
    );
  });

  it('stays when an export it does not have is cleared (google-cloud-go#8044)', async () => {
    await world.subscription('sub', 'top', { labels: { a: 'b' } });
    const paths = ['bigquery_config', 'cloud_storage_config', 'bigtable_config'];
    expect(await world.update('sub', {}, paths)).toMatchObject({ labels: { a: 'b' } });
    const bigqueryConfig = { table: 'p.d.t' };
    await expect(world.update('sub', { bigqueryConfig }, paths)).rejects.toMatchObject(invalid);
  });
});

describe('topics', () => {
  it.each([
    ['labels', { labels: { a: 'b' } }],
    ['message_retention_duration', { messageRetentionDuration: { seconds: 600n } }],
    ['message_storage_policy', { messageStoragePolicy: { allowedPersistenceRegions: ['europe-west3'] } }],
    ['kms_key_name', { kmsKeyName: 'projects/p/locations/l/keyRings/r/cryptoKeys/k' }],
  ])('change %s by mask, and lose it again (google-cloud-cpp#4792)', async (path, fields) => {
    expect(await updateTopic(fields, [path])).toMatchObject(fields);
    const cleared = await updateTopic({}, [path]);
    expect(cleared).not.toMatchObject(fields);
    expect(cleared.name).toBe(topicName('top'));
  });

  it('of the same name and moment are not the one before (jaiscloud#87)', async () => {
    await world.subscription('sub', 'top');
    await world.snapshot('snap', 'sub');
    await world.call('deleteTopic', { topic: topicName('top') });
    await world.topic('top');
    await world.publish('top', 'a');
    expect((await world.get('sub')).topic).toBe('_deleted-topic_');
    expect(await world.pull('sub')).toEqual([]);
    const list = { topic: topicName('top'), pageSize: 0, pageToken: '' };
    const { snapshots } = await world.call<pubsub.ListTopicSnapshotsResponse>('listTopicSnapshots', list);
    expect(snapshots).toEqual([]);
  });
});

describe('Pull', () => {
  const pull = (timeout: string): Promise<Uint8Array> =>
    world.call(
      'pull',
      { subscription: subscriptionName('sub'), maxMessages: 1, returnImmediately: false },
      { 'grpc-timeout': timeout },
    );

  it.each([
    ['2S', 1750],
    ['900m', 650],
    ['100m', 0],
    ['1H', 4000],
  ])(
    'with a deadline of %s is answered before it, empty (google-cloud-python#7709)',
    async (timeout, wait) => {
      await world.subscription('sub', 'top');
      let answer: Uint8Array | undefined;
      void pull(timeout).then((bytes) => (answer = bytes));
      await turns();
      if (wait > 0) world.clock.advance(wait - 1);
      await turns();
      expect(answer).toEqual(wait > 0 ? undefined : Buffer.alloc(0));
      world.clock.advance(1);
      await turns();
      expect(answer).toEqual(Buffer.alloc(0));
    },
  );

  it('gives a thousand of ten thousand that were asked for, each of them leased (google-cloud-rust#321)', async () => {
    await world.subscription('sub', 'top');
    for (let i = 0; i < 3; i++) {
      const messages = Array.from({ length: 500 }, (_, n) => ({ data: Buffer.from(`${i * 500 + n}`) }));
      await world.publishTogether('top', messages);
    }
    const first = await world.pull('sub', 10_000);
    const second = await world.pull('sub', 10_000);
    expect([first.length, second.length]).toEqual([1000, 500]);
    await world.ack('sub', ...first, ...second);
    world.clock.advance(60 * SECOND);
    expect(await world.pull('sub')).toEqual([]);
  });

  it('has no delivery attempt without a dead-letter policy (java-pubsub#67)', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a');
    for (let i = 0; i < 3; i++) {
      const pulled = await world.pull('sub');
      expect(pulled.map(({ attempt }) => attempt)).toEqual([0]);
      await world.nack('sub', ...pulled);
    }
  });
});

describe('acknowledgements', () => {
  it('of a message that came twice count for both, by either id (GoogleCloudPlatform/pubsub#166)', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a', 'b');
    const first = await world.pull('sub');
    world.clock.advance(11 * SECOND);
    const again = await world.pull('sub');
    expect(again.map(({ data }) => data).sort()).toEqual(['a', 'b']);
    await world.ack(
      'sub',
      again.find(({ data }) => data === 'a')!,
    );
    // The ids of the first time are late: they are taken, and change nothing for a lease that is not theirs.
    await world.ack('sub', ...first);
    world.clock.advance(11 * SECOND);
    expect((await world.pull('sub')).map(({ data }) => data)).not.toContain('a');
  });

  it('after a nack are of the second delivery (google-cloud-node#2632)', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a');
    await world.nack('sub', ...(await world.pull('sub')));
    await world.ack('sub', ...(await world.pull('sub')));
    world.clock.advance(60 * SECOND);
    expect(await world.pull('sub')).toEqual([]);
  });

  it('of a former subscription of the name are refused, even of the same moment (nodejs-pubsub#2006)', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a');
    const pulled = await world.pull('sub');
    const stream = new Stream(world, 'sub');
    await world.call('deleteSubscription', { subscription: subscriptionName('sub') });
    await world.subscription('sub', 'top');
    expect(stream.failure).toMatchObject({ code: 5 });
    await expect(world.ack('sub', ...pulled)).rejects.toMatchObject(invalid);
    await world.publish('top', 'b');
    await turns();
    expect(stream.texts).toEqual([]);
    expect((await world.pull('sub')).map(({ data }) => data)).toEqual(['b']);
  });
});

describe('a stream', () => {
  it('leases by its own deadline, whatever the subscription says (google-cloud-python#9252)', async () => {
    await world.subscription('sub', 'top', { ackDeadlineSeconds: 600 });
    await world.publish('top', 'a');
    const stream = new Stream(world, 'sub', { streamAckDeadlineSeconds: 10 });
    await turns();
    stream.close();
    world.clock.advance(9 * SECOND);
    expect(await world.pull('sub')).toEqual([]);
    world.clock.advance(2 * SECOND);
    expect(await world.pull('sub')).toHaveLength(1);
  });

  it('that changes its deadline means what follows (google-cloud-go#10557)', async () => {
    await world.subscription('sub', 'top');
    const stream = new Stream(world, 'sub');
    await world.publish('top', 'short');
    await turns();
    stream.send({ streamAckDeadlineSeconds: 60 });
    await world.publish('top', 'long');
    await turns();
    expect(stream.texts).toEqual(['short', 'long']);
    stream.close();
    world.clock.advance(11 * SECOND);
    expect((await world.pull('sub')).map(({ data }) => data)).toEqual(['short']);
    world.clock.advance(48 * SECOND);
    expect((await world.pull('sub')).map(({ data }) => data)).not.toContain('long');
    world.clock.advance(2 * SECOND);
    expect((await world.pull('sub')).map(({ data }) => data)).toContain('long');
  });

  it('has the first message of a new subscription (firebase-tools#8892)', async () => {
    for (let i = 0; i < 20; i++) {
      await world.topic(`new-${i}`);
      await world.subscription(`new-${i}`, `new-${i}`);
      const stream = new Stream(world, `new-${i}`);
      await world.publish(`new-${i}`, 'first', 'second');
      await turns();
      expect(stream.texts).toEqual(['first', 'second']);
    }
  });

  it('keeps the order of more than nine and of ninety-nine messages of a key (google-cloud-go#6255)', async () => {
    await world.subscription('sub', 'top', { enableMessageOrdering: true });
    const texts = Array.from({ length: 120 }, (_, i) => String(i));
    await world.publishTogether(
      'top',
      texts.map((text) => ({ data: Buffer.from(text), orderingKey: 'k' })),
    );
    expect(await world.drain('sub')).toEqual(texts);
  });
});

describe('snapshots', () => {
  it('of a subscription that was used before hold what is left (nodejs-pubsub#448)', async () => {
    await world.subscription('sub', 'top', { retainAckedMessages: true });
    await world.publish('top', 'done', 'left');
    const [done] = await world.pull('sub', 1);
    await world.ack('sub', done!);
    await world.snapshot('snap', 'sub');
    await world.drain('sub');
    await world.seek('sub', 'snap');
    expect(await world.drain('sub')).toEqual(['left']);
  });
});

describe('expiration', () => {
  it('takes a dead-letter subscription that only gets messages, unless it never expires (outpost#1066)', async () => {
    await world.topic('dead');
    await world.subscription('letters', 'dead');
    await world.subscription('kept', 'dead', { expirationPolicy: {} });
    await world.subscription('sub', 'top', {
      deadLetterPolicy: { deadLetterTopic: topicName('dead') },
      expirationPolicy: {},
    });
    for (let day = 0; day < 32; day++) {
      await world.publish('dead', `letter ${day}`);
      world.clock.advance(DAY);
      await expireSubscriptions(world.services);
    }
    await expect(world.get('letters')).rejects.toMatchObject({ kind: 'not-found' });
    expect((await world.get('kept')).expirationPolicy?.ttl).toBeUndefined();
    // Retention goes on by its own clock.
    expect((await world.pull('kept')).map(({ data }) => data)).toEqual(
      Array.from({ length: 6 }, (_, i) => `letter ${i + 26}`),
    );
  });
});
