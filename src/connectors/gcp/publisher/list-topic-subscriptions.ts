import { create } from '@bufbuild/protobuf';
import { pageOf } from '../paging.js';
import { parseResourceName, resourceName, subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  ListTopicSubscriptionsResponseSchema,
  type ListTopicSubscriptionsRequest,
  type ListTopicSubscriptionsResponse,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Names of the subscriptions attached to a topic, by id, under the project that was asked for: ids are global. */
export function listTopicSubscriptions({
  catalog,
  client,
}: GcpServices): Operation<ListTopicSubscriptionsRequest, ListTopicSubscriptionsResponse> {
  return (request) => {
    const { id } = catalog.requireTopic(request.topic);
    const { project } = parseResourceName(request.topic, 'topics');
    const ids = catalog
      .subscriptionsOf(id)
      .filter(({ resource }) => !resource.detached)
      .map((info) => info.id)
      .filter((own) => client?.sees('queue', subscriptionChannel(own)) !== false)
      .sort();
    const { items, nextPageToken } = pageOf(ids, (item) => item, request);
    const subscriptions = items.map((item) => resourceName(project, 'subscriptions', item));
    return create(ListTopicSubscriptionsResponseSchema, { subscriptions, nextPageToken });
  };
}
