import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { DeleteSnapshotRequest } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Deletes a snapshot. Whoever was set back to it stays where it is. */
export function deleteSnapshot({ broker, snapshots }: GcpServices): Operation<DeleteSnapshotRequest, Empty> {
  return async (request) => {
    await broker.change(snapshots.deletion(snapshots.require(request.snapshot)));
    return create(EmptySchema);
  };
}
