import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { Broker } from '../../../core/broker-api.js';
import type { Change } from '../../../core/registry/types.js';
import { forgetPolicy } from '../iam/policies.js';
import { ACTIVITY_KIND, SUBSCRIPTION_KIND, type SubscriptionInfo } from '../registry/records.js';
import { subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { DeleteSubscriptionRequest } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Deletes a subscription with its backlog. The queue behind an alias is another protocol's and stays. */
export function deleteSubscription(services: GcpServices): Operation<DeleteSubscriptionRequest, Empty> {
  const { broker, catalog } = services;
  return async (request) => {
    await broker.change(removalOf(broker, catalog.requireSubscription(request.subscription)));
    return create(EmptySchema);
  };
}

/** What removes a subscription, with all that belongs to it. */
export function removalOf(broker: Broker, { id, version }: SubscriptionInfo): readonly Change[] {
  const channel = subscriptionChannel(id);
  const changes: Change[] = [
    { do: 'remove', kind: SUBSCRIPTION_KIND, key: id, expected: version },
    { do: 'remove', kind: ACTIVITY_KIND, key: id },
    ...forgetPolicy(broker, 'subscriptions', id),
  ];
  if (broker.resolve(channel) === channel) changes.push({ do: 'delete-queue', channel });
  return changes;
}
