import { create } from '@bufbuild/protobuf';
import type { ChannelName } from '../../../core/channel-name.js';
import { pageOf } from '../paging.js';
import { parseProject, resourceName } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  ListSnapshotsResponseSchema,
  type ListSnapshotsRequest,
  type ListSnapshotsResponse,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Lists all snapshots by id, under the project that was asked for: ids are global. */
export function listSnapshots({
  client,
  snapshots,
}: GcpServices): Operation<ListSnapshotsRequest, ListSnapshotsResponse> {
  return (request) => {
    const project = parseProject(request.project);
    // To the access rules a snapshot is a queue of this name.
    const seen = snapshots
      .list()
      .filter(({ id }) => client?.sees('queue', `gcp.snapshot.${id}` as ChannelName) !== false);
    const { items, nextPageToken } = pageOf(seen, ({ id }) => id, request);
    const shown = items.map(({ id, resource }) => ({
      ...resource,
      name: resourceName(project, 'snapshots', id),
    }));
    return create(ListSnapshotsResponseSchema, { snapshots: shown, nextPageToken });
  };
}
