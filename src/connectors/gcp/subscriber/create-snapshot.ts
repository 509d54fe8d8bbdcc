import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { creationFault, detachedFault, precondition, resourceExists } from '../errors.js';
import { checkLabels } from '../labels.js';
import { snapshotResource } from '../registry/records.js';
import {
  checkNewSnapshotId,
  parseResourceName,
  resourceName,
  subscriptionChannel,
  topicChannel,
} from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  SnapshotSchema,
  type CreateSnapshotRequest,
  type Snapshot,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

const HOUR_MS = 3600 * 1000;
/** How long a snapshot lives, less the age of its oldest unacknowledged message: the log keeps that one at least as long. */
export const SNAPSHOT_LIFE_MS = 7 * 24 * HOUR_MS;

/**
 * Notes which messages of its topic a subscription has not acknowledged: those, and all that is published later, are what Seek
 * brings back. Without a name the server makes one.
 */
export function createSnapshot(services: GcpServices): Operation<CreateSnapshotRequest, Snapshot> {
  const { broker, catalog, clock, ids, snapshots } = services;
  return async (request) => {
    const info = catalog.requireSubscription(request.subscription);
    const name =
      request.name === ''
        ? resourceName(
            parseResourceName(request.subscription, 'subscriptions').project,
            'snapshots',
            `snapshot-${ids.uuid()}`,
          )
        : request.name;
    const { id } = parseResourceName(name, 'snapshots');
    checkNewSnapshotId(name, id);
    checkLabels(request.labels);
    if (info.resource.detached) throw detachedFault();
    const topic = catalog.topic(info.record.topicId);
    if (topic === undefined) throw precondition('The topic of the subscription was deleted.');
    if (snapshots.find(id) !== undefined) throw resourceExists(id);
    const log = topicChannel(topic.id);
    const now = clock.now();
    const { upTo, runs } = catalog.broker.copiesLeft(subscriptionChannel(info.id), log);
    // A message may be younger than `now`, which was read before: it makes no snapshot live longer.
    const expiresAt = Math.min(now, await oldestAt(services, log, runs[0])) + SNAPSHOT_LIFE_MS;
    if (expiresAt < now + HOUR_MS) {
      throw precondition(
        'The snapshot would expire within an hour: its oldest unacknowledged message is too old.',
      );
    }
    const snapshot = create(SnapshotSchema, {
      name,
      topic: topic.resource.name,
      expireTime: timestampFromMs(expiresAt),
      labels: request.labels,
    });
    const record = {
      createdAt: now,
      topicId: topic.id,
      topicCreatedAt: topic.record.createdAt,
      upTo,
      resource: snapshotResource(snapshot),
    };
    const created = broker.change(snapshots.creation(id, runs, record));
    await created.catch((caught: unknown) => {
      throw creationFault(caught, id);
    });
    return snapshot;
  };
}

/** When the oldest of the messages was stored; now when there is none. */
async function oldestAt(
  { catalog, clock }: GcpServices,
  channel: ReturnType<typeof topicChannel>,
  sequence: number | undefined,
): Promise<number> {
  if (sequence === undefined) return clock.now();
  const [event] = await catalog.broker.readLog({ channel, fromSequence: sequence, max: 1 });
  return event?.storedAt ?? clock.now();
}
