import { create } from '@bufbuild/protobuf';
import type { ChannelName } from '../../../core/channel-name.js';
import { pageOf } from '../paging.js';
import { parseResourceName, resourceName } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  ListTopicSnapshotsResponseSchema,
  type ListTopicSnapshotsRequest,
  type ListTopicSnapshotsResponse,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Names of the snapshots of a topic, by id, under the project that was asked for: ids are global. */
export function listTopicSnapshots({
  catalog,
  client,
  snapshots,
}: GcpServices): Operation<ListTopicSnapshotsRequest, ListTopicSnapshotsResponse> {
  return (request) => {
    const { id, record } = catalog.requireTopic(request.topic);
    const { project } = parseResourceName(request.topic, 'topics');
    const ids = snapshots
      .list()
      .filter((info) => info.record.topicId === id && info.record.topicCreatedAt === record.createdAt)
      .map((info) => info.id)
      .filter((own) => client?.sees('queue', `gcp.snapshot.${own}` as ChannelName) !== false);
    const { items, nextPageToken } = pageOf(ids, (item) => item, request);
    const names = items.map((item) => resourceName(project, 'snapshots', item));
    return create(ListTopicSnapshotsResponseSchema, { snapshots: names, nextPageToken });
  };
}
