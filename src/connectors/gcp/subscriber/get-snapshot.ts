import { parseResourceName, resourceName } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { GetSnapshotRequest, Snapshot } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Answers a snapshot under the project that was asked for: ids are global. */
export function getSnapshot({ snapshots }: GcpServices): Operation<GetSnapshotRequest, Snapshot> {
  return (request) => {
    const { id, resource } = snapshots.require(request.snapshot);
    const { project } = parseResourceName(request.snapshot, 'snapshots');
    return { ...resource, name: resourceName(project, 'snapshots', id) };
  };
}
