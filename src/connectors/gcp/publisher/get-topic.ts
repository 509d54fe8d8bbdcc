import { resourceName, parseResourceName } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { GetTopicRequest, Topic } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Answers a topic under the project that was asked for: ids are global. */
export function getTopic(services: GcpServices): Operation<GetTopicRequest, Topic> {
  return (request) => {
    const { id, resource } = services.catalog.requireTopic(request.topic);
    const { project } = parseResourceName(request.topic, 'topics');
    return { ...resource, name: resourceName(project, 'topics', id) };
  };
}
