import { create } from '@bufbuild/protobuf';
import { SUBSCRIPTION_KIND, withResource } from '../registry/records.js';
import { subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  DetachSubscriptionResponseSchema,
  type DetachSubscriptionRequest,
  type DetachSubscriptionResponse,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Detaches a subscription from its topic: nothing comes any more, and its backlog and leases go. Again is fine. */
export function detachSubscription({
  catalog,
}: GcpServices): Operation<DetachSubscriptionRequest, DetachSubscriptionResponse> {
  const { broker } = catalog;
  return async (request) => {
    const { id, version, record, resource } = catalog.requireSubscription(request.subscription);
    if (!resource.detached) {
      const value = withResource(record, { ...resource, detached: true });
      await broker.change([{ do: 'put', kind: SUBSCRIPTION_KIND, key: id, value, expected: version }]);
      const queue = subscriptionChannel(id);
      // The queue behind an alias is another protocol's.
      if (broker.resolve(queue) === queue) {
        await broker.rewind({
          queue,
          log: undefined,
          wants: () => false,
          keeps: () => false,
          restoreMax: 0,
        });
      }
    }
    return create(DetachSubscriptionResponseSchema);
  };
}
