import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { RewindRequest } from '../../../core/log/types.js';
import { detachedFault, invalidArgument, precondition } from '../errors.js';
import { routeOf } from '../registry/catalog.js';
import type { SnapshotInfo, SubscriptionInfo } from '../registry/records.js';
import { retentionMs } from '../registry/topic-rules.js';
import { runsHave } from '../registry/unacked.js';
import { topicChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  SeekResponseSchema,
  type SeekRequest,
  type SeekResponse,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

type Wanted = Pick<RewindRequest, 'wants' | 'keeps'>;

/**
 * Sets a subscription to a time or a snapshot: what it holds, leases included, is replaced in one step, and nothing is handed
 * out meanwhile. What it does not hold passes its filter again. At most `maxSeekReplay` acknowledged messages come back, the
 * newest ones.
 */
export function seek(services: GcpServices): Operation<SeekRequest, SeekResponse> {
  const { catalog, clock, config, log, snapshots, subscriptions } = services;
  const { broker } = catalog;
  return async ({ subscription: name, target }) => {
    const live = subscriptions.require(name);
    const { info } = live;
    const topic = catalog.topic(info.record.topicId);
    if (target.case === undefined) throw invalidArgument('The SeekRequest must have a time or a snapshot.');
    if (info.resource.detached) throw detachedFault();
    if (broker.resolve(live.name) !== live.name) {
      throw precondition(
        `The queue of the subscription is another one's, by an alias: it cannot be set back.`,
      );
    }
    const snapshot = target.case === 'snapshot' ? snapshots.require(target.value) : undefined;
    if (snapshot !== undefined) checkSameTopic(snapshot, topic);
    const time = target.case === 'time' ? timestampMs(target.value) : undefined;
    const now = clock.now();
    const wanted =
      snapshot !== undefined
        ? wantedBySnapshot(snapshot, snapshots.unackedOf(snapshot))
        : wantedByTime(services, info, { time: time ?? now, now });
    const { restored, skipped } = await broker.rewind({
      queue: live.name,
      log: topic === undefined ? undefined : topicChannel(topic.id),
      ...wanted,
      route: routeOf(broker, info),
      restoreMax: config.maxSeekReplay,
    });
    live.held.releaseAll();
    live.used(now);
    if (skipped > 0) {
      log.warn('a seek left out the oldest messages: there are more than it may bring back', {
        subscription: info.id,
        restored,
        skipped,
      });
    }
    return create(SeekResponseSchema);
  };
}

function checkSameTopic({ record }: SnapshotInfo, topic: ReturnType<GcpServices['catalog']['topic']>): void {
  const isSame = record.topicId === topic?.id && record.topicCreatedAt === topic.record.createdAt;
  if (!isSame) throw precondition('The snapshot is of another topic than the subscription.');
}

/** What was unacknowledged then, and all that came later. */
function wantedBySnapshot({ record }: SnapshotInfo, runs: readonly number[]): Wanted {
  const wasUnacked = runsHave(runs);
  return { wants: (sequence) => sequence > record.upTo || wasUnacked(sequence), keeps: () => true };
}

/**
 * What was published at or after the time. Of that, acknowledged messages come back as far as the topic keeps messages, or the
 * subscription its acknowledged ones. A time that has not come ends everything there is; what is published later is not concerned,
 * as Google's own client tests with the year 3000.
 */
function wantedByTime(
  { catalog }: GcpServices,
  { record, resource }: SubscriptionInfo,
  { time, now }: { readonly time: number; readonly now: number },
): Wanted {
  if (time >= now) return { wants: () => false, keeps: () => false };
  const topic = catalog.topic(record.topicId);
  const topicRetention = topic === undefined ? 0 : retentionMs(topic.resource);
  const keptByTopic = topicRetention === 0 ? Infinity : now - topicRetention;
  const keptByIt = resource.retainAckedMessages
    ? Math.max(now - retentionMs(resource), record.createdAt)
    : Infinity;
  const replayFrom = Math.min(keptByTopic, keptByIt);
  return {
    wants: (_, storedAt, held) => storedAt >= time && (held || storedAt >= replayFrom),
    keeps: (enqueuedAt) => enqueuedAt >= time,
  };
}
