import { parseResourceName, resourceName } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { GetSubscriptionRequest, Subscription } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Answers a subscription under the project that was asked for: ids are global. */
export function getSubscription(services: GcpServices): Operation<GetSubscriptionRequest, Subscription> {
  return (request) => {
    const { id, resource } = services.catalog.requireSubscription(request.subscription);
    const { project } = parseResourceName(request.subscription, 'subscriptions');
    return { ...resource, name: resourceName(project, 'subscriptions', id) };
  };
}
