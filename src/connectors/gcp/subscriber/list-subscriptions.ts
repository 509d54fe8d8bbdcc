import { create } from '@bufbuild/protobuf';
import { pageOf } from '../paging.js';
import { SUBSCRIPTION_KIND, subscriptionInfo } from '../registry/records.js';
import { parseProject, subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  ListSubscriptionsResponseSchema,
  type ListSubscriptionsRequest,
  type ListSubscriptionsResponse,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { shownSubscription } from './get-subscription.js';

/** Lists all subscriptions by id, under the project that was asked for: ids are global. */
export function listSubscriptions(
  services: GcpServices,
): Operation<ListSubscriptionsRequest, ListSubscriptionsResponse> {
  const { registry } = services.broker;
  return (request) => {
    const project = parseProject(request.project);
    const all = registry
      .list(SUBSCRIPTION_KIND)
      .filter(({ key }) => services.client?.sees('queue', subscriptionChannel(key)) !== false);
    const { items, nextPageToken } = pageOf(all, (entry) => entry.key, request);
    const subscriptions = items.map((entry) => shownSubscription(services, subscriptionInfo(entry), project));
    return create(ListSubscriptionsResponseSchema, { subscriptions, nextPageToken });
  };
}
