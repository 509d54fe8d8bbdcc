import { create } from '@bufbuild/protobuf';
import { pageOf } from '../paging.js';
import { TOPIC_KIND, topicInfo } from '../registry/records.js';
import { parseProject, resourceName, topicChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  ListTopicsResponseSchema,
  type ListTopicsRequest,
  type ListTopicsResponse,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Lists all topics by id, under the project that was asked for: ids are global. */
export function listTopics(services: GcpServices): Operation<ListTopicsRequest, ListTopicsResponse> {
  const { registry } = services.broker;
  return (request) => {
    const project = parseProject(request.project);
    const seen = registry
      .list(TOPIC_KIND)
      .filter(({ key }) => services.client?.sees('log', topicChannel(key)) !== false);
    const { items, nextPageToken } = pageOf(seen, (entry) => entry.key, request);
    const topics = items.map((entry) => ({
      ...topicInfo(entry).resource,
      name: resourceName(project, 'topics', entry.key),
    }));
    return create(ListTopicsResponseSchema, { topics, nextPageToken });
  };
}
