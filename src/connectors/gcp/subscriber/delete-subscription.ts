import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { Change } from '../../../core/registry/types.js';
import { SUBSCRIPTION_KIND } from '../registry/records.js';
import { subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { DeleteSubscriptionRequest } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Deletes a subscription with its backlog. The queue behind an alias is another protocol's and stays. */
export function deleteSubscription(services: GcpServices): Operation<DeleteSubscriptionRequest, Empty> {
  const { broker, catalog } = services;
  return async (request) => {
    const { id, version } = catalog.requireSubscription(request.subscription);
    const channel = subscriptionChannel(id);
    const changes: Change[] = [{ do: 'remove', kind: SUBSCRIPTION_KIND, key: id, expected: version }];
    if (broker.resolve(channel) === channel) changes.push({ do: 'delete-queue', channel });
    await broker.change(changes);
    return create(EmptySchema);
  };
}
