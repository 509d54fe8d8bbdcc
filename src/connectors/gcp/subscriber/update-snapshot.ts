import { timestampMs } from '@bufbuild/protobuf/wkt';
import { invalidArgument } from '../errors.js';
import { masked } from '../field-mask.js';
import { checkLabels } from '../labels.js';
import { SNAPSHOT_KIND, snapshotResource } from '../registry/records.js';
import { parseResourceName, resourceName } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  SnapshotSchema,
  type Snapshot,
  type UpdateSnapshotRequest,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { SNAPSHOT_LIFE_MS } from './create-snapshot.js';

const RULE = { request: 'UpdateSnapshotRequest', mutable: new Set(['labels', 'expire_time']) };

/** Changes labels and expiration: never to a time that is past, nor to one beyond a snapshot's longest life. */
export function updateSnapshot({
  broker,
  clock,
  snapshots,
}: GcpServices): Operation<UpdateSnapshotRequest, Snapshot> {
  return async ({ snapshot: patch, updateMask }) => {
    if (patch === undefined) throw invalidArgument('The UpdateSnapshotRequest must have a snapshot.');
    const { id, version, record, resource } = snapshots.require(patch.name);
    const changed = masked(SnapshotSchema, { current: resource, patch }, updateMask, RULE);
    checkLabels(changed.labels);
    const { expireTime } = changed;
    const expiresAt = expireTime === undefined ? 0 : timestampMs(expireTime);
    if (expiresAt <= clock.now() || expiresAt > record.createdAt + SNAPSHOT_LIFE_MS) {
      throw invalidArgument(
        'The expire_time must lie between now and 7 days after the creation of the snapshot.',
      );
    }
    const value = { ...record, resource: snapshotResource(changed) };
    await broker.change([{ do: 'put', kind: SNAPSHOT_KIND, key: id, value, expected: version }]);
    const { project } = parseResourceName(patch.name, 'snapshots');
    return { ...changed, name: resourceName(project, 'snapshots', id) };
  };
}
