import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { Change } from '../../../core/registry/types.js';
import {
  SUBSCRIPTION_KIND,
  subscriptionRecord,
  TOPIC_KIND,
  type SubscriptionInfo,
} from '../registry/records.js';
import { DELETED_TOPIC } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { DeleteTopicRequest } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/**
 * Deletes a topic. Its subscriptions stay, with their backlog, and belong to no topic any more, not even to a new one of
 * the same name. Its log stays for its readers until its retention empties it.
 */
export function deleteTopic(services: GcpServices): Operation<DeleteTopicRequest, Empty> {
  const { broker, catalog } = services;
  return async (request) => {
    const { id, version } = catalog.requireTopic(request.topic);
    const changes: Change[] = [{ do: 'remove', kind: TOPIC_KIND, key: id, expected: version }];
    for (const subscription of catalog.subscriptionsOf(id)) changes.push(orphan(subscription));
    await broker.change(changes);
    return create(EmptySchema);
  };
}

function orphan({ id, version, resource, record }: SubscriptionInfo): Change {
  const value = subscriptionRecord({ ...resource, topic: DELETED_TOPIC }, '', record.createdAt);
  return { do: 'put', kind: SUBSCRIPTION_KIND, key: id, value, expected: version };
}
