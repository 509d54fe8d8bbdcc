import { create } from '@bufbuild/protobuf';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as iam from '../../../src/connectors/gcp/wire/gen/google/iam/v1/iam_policy_pb.js';
import type { Policy } from '../../../src/connectors/gcp/wire/gen/google/iam/v1/policy_pb.js';
import * as pubsub from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { snapshotName, subscriptionName, topicName, World } from './fixture.js';

const invalid = { kind: 'invalid-argument' };
const missing = { kind: 'not-found' };
const precondition = { kind: 'precondition' };

let world: World;
beforeEach(async () => {
  world = await new World().open();
  await world.topic('top');
});

const updateTopic = (fields: object, paths: string[] | undefined): Promise<pubsub.Topic> =>
  world.call(
    'updateTopic',
    create(pubsub.UpdateTopicRequestSchema, {
      topic: { name: topicName('top'), ...fields },
      ...(paths === undefined ? {} : { updateMask: { paths } }),
    }),
  );

describe('topics', () => {
  it('change by mask, all of it or nothing', async () => {
    const topic = await updateTopic(
      { labels: { a: 'b' }, messageRetentionDuration: { seconds: 86_400n * 20n }, kmsKeyName: 'k' },
      ['labels', 'message_retention_duration'],
    );
    expect(topic).toMatchObject({ labels: { a: 'b' }, kmsKeyName: '' });
    // Its log keeps as much.
    expect(world.broker.logStats('gcp.top' as never)?.settings.retentionMs).toBe(20 * 86_400_000);
    await expect(updateTopic({ labels: {} }, undefined)).rejects.toThrow(
      'must contain a non-empty paths list',
    );
    await expect(updateTopic({ labels: {} }, ['labels', 'name'])).rejects.toThrow(
      "the 'name' field in the Topic is not mutable",
    );
    await expect(updateTopic({}, ['kmsKeyName'])).rejects.toThrow("'kmsKeyName' is not a known Topic field");
    await expect(updateTopic({}, ['message_storage_policy.bogus'])).rejects.toMatchObject(invalid);
    await updateTopic(
      { messageStoragePolicy: { allowedPersistenceRegions: ['eu'], enforceInTransit: true } },
      ['message_storage_policy.enforce_in_transit'],
    );
    await world.restart();
    const stored = await world.call<pubsub.Topic>('getTopic', { topic: topicName('top') });
    expect(stored).toMatchObject({
      labels: { a: 'b' },
      messageStoragePolicy: { enforceInTransit: true, allowedPersistenceRegions: [] },
    });
    await updateTopic({}, ['labels', 'message_retention_duration', 'message_storage_policy']);
    expect(world.broker.logStats('gcp.top' as never)?.settings.retentionMs).toBe(7 * 86_400_000);
  });

  it('list what is attached to them, in pages', async () => {
    for (const id of ['s-c', 's-a', 's-b']) await world.subscription(id, 'top');
    await world.snapshot('snap', 's-a');
    await world.call('detachSubscription', { subscription: subscriptionName('s-b') });
    const list = (pageToken: string): Promise<pubsub.ListTopicSubscriptionsResponse> =>
      world.call('listTopicSubscriptions', { topic: topicName('top'), pageSize: 1, pageToken });
    const first = await list('');
    expect(first.subscriptions).toEqual([subscriptionName('s-a')]);
    expect(await list(first.nextPageToken)).toMatchObject({
      subscriptions: [subscriptionName('s-c')],
      nextPageToken: '',
    });
    const snapshots = { topic: topicName('top'), pageSize: 0, pageToken: '' };
    expect(await world.call('listTopicSnapshots', snapshots)).toMatchObject({
      snapshots: [snapshotName('snap')],
    });
    for (const method of ['listTopicSubscriptions', 'listTopicSnapshots']) {
      const request = { topic: topicName('none'), pageSize: 0, pageToken: '' };
      await expect(world.call(method, request)).rejects.toMatchObject(missing);
    }
  });
});

describe('subscriptions', () => {
  it('change by mask; what the request leaves out goes to its default', async () => {
    await world.subscription('sub', 'top', { filter: 'attributes:a', ackDeadlineSeconds: 30 });
    await world.update('sub', { labels: { x: 'y' }, retainAckedMessages: true }, [
      'labels',
      'retain_acked_messages',
    ]);
    expect(await world.update('sub', {}, ['ack_deadline_seconds'])).toMatchObject({
      ackDeadlineSeconds: 10,
      labels: { x: 'y' },
      retainAckedMessages: true,
    });
    for (const path of ['filter', 'topic', 'name', 'enable_message_ordering', 'detached', 'state']) {
      await expect(world.update('sub', { labels: {} }, ['labels', path])).rejects.toThrow('is not mutable');
    }
    await expect(world.update('sub', {}, ['pushConfig'])).rejects.toThrow(
      "field paths must be of the form 'push_config'",
    );
    expect((await world.get('sub')).labels).toEqual({ x: 'y' });
    await expect(world.update('none', {}, ['labels'])).rejects.toMatchObject(missing);
  });

  it('pass changes on to their queue', async () => {
    await world.subscription('sub', 'top');
    const settings = (): unknown => world.broker.queueStats('gcp.sub.sub' as never)?.settings;
    await world.topic('dead');
    await world.update(
      'sub',
      {
        messageRetentionDuration: { seconds: 600n },
        retryPolicy: { minimumBackoff: { seconds: 1n } },
        deadLetterPolicy: { deadLetterTopic: topicName('dead'), maxDeliveryAttempts: 7 },
      },
      ['message_retention_duration', 'retry_policy', 'dead_letter_policy'],
    );
    expect(settings()).toMatchObject({
      retentionMs: 600_000,
      backoff: { minMs: 1000, maxMs: 600_000 },
      deadLetter: { maxReceiveCount: 7 },
    });
    await world.update('sub', {}, ['retry_policy', 'dead_letter_policy']);
    expect(settings()).toMatchObject({ backoff: undefined, deadLetter: undefined });
  });

  it('are refused with settings that do not go together', async () => {
    const day = 86_400n;
    const cases: [string, Parameters<World['subscription']>[2]][] = [
      [
        'ttl below retention',
        { expirationPolicy: { ttl: { seconds: day } }, messageRetentionDuration: { seconds: day * 2n } },
      ],
      [
        'backoff upside down',
        { retryPolicy: { minimumBackoff: { seconds: 20n }, maximumBackoff: { seconds: 10n } } },
      ],
      ['backoff too long', { retryPolicy: { maximumBackoff: { seconds: 601n } } }],
      ['bad label', { labels: { A: 'b' } }],
      ['export', { cloudStorageConfig: { bucket: 'b' } }],
      ['both', { pushConfig: { pushEndpoint: 'https://x.example/' }, enableExactlyOnceDelivery: true }],
    ];
    for (const [name, more] of cases) {
      await expect(world.subscription('sub', 'top', more), name).rejects.toMatchObject(invalid);
    }
    const short = await world.subscription('short', 'top', { expirationPolicy: { ttl: { seconds: day } } });
    expect(short.messageRetentionDuration?.seconds).toBe(day);
  });

  it('keep a topic log as long as they look back', async () => {
    await world.subscription('sub', 'top', { messageRetentionDuration: { seconds: 86_400n * 30n } });
    expect(world.broker.logStats('gcp.top' as never)?.settings.retentionMs).toBe(30 * 86_400_000);
  });

  it('that are detached get nothing, hand out nothing, and can be detached again', async () => {
    await world.subscription('sub', 'top');
    await world.publish('top', 'a');
    const pulled = await world.pull('sub');
    await world.publish('top', 'b');
    const request = { subscription: subscriptionName('sub') };
    await world.call('detachSubscription', request);
    await world.call('detachSubscription', request);
    await world.restart();
    await world.publish('top', 'c');
    expect(await world.get('sub')).toMatchObject({ detached: true, topic: topicName('top') });
    expect(world.broker.queueStats('gcp.sub.sub' as never)).toMatchObject({ ready: 0, inFlight: 0 });
    await expect(world.pull('sub')).rejects.toMatchObject(precondition);
    await expect(world.snapshot('snap', 'sub')).rejects.toMatchObject(precondition);
    await world.ack('sub', ...pulled);
    await expect(
      world.call('detachSubscription', { subscription: subscriptionName('x-y') }),
    ).rejects.toMatchObject(missing);
  });

  it('that are pushed are not pulled; without an endpoint they are again', async () => {
    await world.subscription('sub', 'top', { pushConfig: { pushEndpoint: 'https://x.example/' } });
    await world.publish('top', 'a');
    await expect(world.pull('sub')).rejects.toThrow(
      'This method is not supported for this subscription type.',
    );
    await world.call('modifyPushConfig', { subscription: subscriptionName('sub') });
    expect(await world.pull('sub')).toHaveLength(1);
    expect((await world.get('sub')).pushConfig?.pushEndpoint).toBe('');
  });

  it('show how long their topic keeps messages for them', async () => {
    await updateTopic({ messageRetentionDuration: { seconds: 600n } }, ['message_retention_duration']);
    const { topicMessageRetentionDuration } = await world.subscription('sub', 'top');
    expect(topicMessageRetentionDuration?.seconds).toBe(600n);
  });
});

describe('names', () => {
  it.each(['123', 'a', 'a b', 'googx', '_x_', 'x'.repeat(256)])('that nothing can have: %s', async (id) => {
    const get = { topic: topicName(id), subscription: subscriptionName(id), snapshot: snapshotName(id) };
    for (const method of ['getTopic', 'getSubscription', 'getSnapshot', 'deleteTopic', 'seek', 'pull']) {
      await expect(world.call(method, { ...get, maxMessages: 1, target: {} })).rejects.toMatchObject(invalid);
    }
  });

  it('that something may have are looked for, a deleted topic, too', async () => {
    await expect(world.get('some')).rejects.toMatchObject(missing);
    await expect(world.call('getTopic', { topic: topicName('_deleted-topic_') })).rejects.toMatchObject(
      missing,
    );
  });
});

describe('snapshots', () => {
  const update = (fields: object, paths: string[]): Promise<pubsub.Snapshot> =>
    world.call(
      'updateSnapshot',
      create(pubsub.UpdateSnapshotRequestSchema, {
        snapshot: { name: snapshotName('snap'), ...fields },
        updateMask: { paths },
      }),
    );

  it('live no longer than they may when time passes while they are made', async () => {
    await world.subscription('sub', 'top');
    let now = world.clock.now();
    const passing = vi.spyOn(world.clock, 'now').mockImplementation(() => now++);
    await world.snapshot('snap', 'sub');
    await update({ labels: { a: 'b' } }, ['labels']);
    passing.mockRestore();
    expect(await world.call('getSnapshot', { snapshot: snapshotName('snap') })).toMatchObject({
      labels: { a: 'b' },
    });
  });

  it('are made, read, listed, changed and deleted', async () => {
    await world.subscription('sub', 'top');
    expect(await world.snapshot('snap', 'sub')).toMatchObject({ topic: topicName('top'), labels: {} });
    const made = await world.call<pubsub.Snapshot>(
      'createSnapshot',
      create(pubsub.CreateSnapshotRequestSchema, { subscription: subscriptionName('sub') }),
    );
    expect(made.name).toMatch(/^projects\/p\/snapshots\/snapshot-/);
    const seconds = BigInt(Math.floor(world.clock.now() / 1000) + 3600);
    await update({ labels: { a: 'b' }, expireTime: { seconds } }, ['labels', 'expire_time']);
    expect(await world.call('getSnapshot', { snapshot: snapshotName('snap') })).toMatchObject({
      labels: { a: 'b' },
      expireTime: { seconds },
    });
    await expect(update({ expireTime: { seconds: 1n } }, ['expire_time'])).rejects.toMatchObject(invalid);
    await expect(update({ topic: 'x' }, ['topic'])).rejects.toMatchObject(invalid);
    const list = { project: 'projects/p', pageSize: 0, pageToken: '' };
    expect((await world.call<pubsub.ListSnapshotsResponse>('listSnapshots', list)).snapshots).toHaveLength(2);
    await world.call('deleteSnapshot', { snapshot: snapshotName('snap') });
    await expect(world.call('getSnapshot', { snapshot: snapshotName('snap') })).rejects.toMatchObject(
      missing,
    );
    await expect(world.call('deleteSnapshot', { snapshot: snapshotName('snap') })).rejects.toMatchObject(
      missing,
    );
    await expect(world.snapshot('x', 'sub')).rejects.toMatchObject(invalid);
    await expect(world.snapshot('snap', 'none')).rejects.toMatchObject(missing);
  });
});

describe('policies', () => {
  const set = (policy: object, resource = topicName('top')): Promise<Policy> =>
    world.call('setIamPolicy', create(iam.SetIamPolicyRequestSchema, { resource, policy }));
  const get = (resource = topicName('top')): Promise<Policy> => world.call('getIamPolicy', { resource });

  it('are kept as they are, with an etag that guards them', async () => {
    expect(await get()).toMatchObject({ version: 0, bindings: [] });
    const bindings = [{ role: 'roles/pubsub.publisher', members: ['user:a@example.com'] }];
    const stored = await set({ bindings });
    expect(stored).toMatchObject({ version: 0, bindings });
    await world.restart();
    const read = await get();
    expect(read).toEqual({ ...stored, etag: new Uint8Array(stored.etag) });
    const changed = await set({ bindings: [], etag: read.etag });
    expect(changed.etag).not.toEqual(read.etag);
    await expect(set({ bindings, etag: read.etag })).rejects.toMatchObject({ status: { code: 10 } });
    await expect(set({ version: 2 })).rejects.toMatchObject(invalid);
  });

  it('go with their resource', async () => {
    await set({ bindings: [{ role: 'r', members: ['allUsers'] }] });
    await world.call('deleteTopic', { topic: topicName('top') });
    await expect(get()).rejects.toMatchObject(missing);
    await world.topic('top');
    expect(await get()).toMatchObject({ bindings: [] });
    await expect(get('projects/p/widgets/x')).rejects.toMatchObject(invalid);
    await expect(get('nothing')).rejects.toMatchObject(invalid);
  });

  it('let everybody do everything', async () => {
    const request = { resource: topicName('top'), permissions: ['pubsub.topics.get'] };
    expect(await world.call('testIamPermissions', request)).toMatchObject({
      permissions: ['pubsub.topics.get'],
    });
    await expect(
      world.call('testIamPermissions', { ...request, resource: topicName('none') }),
    ).rejects.toMatchObject(missing);
  });
});
