import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import { PushConfigSchema, type ModifyPushConfigRequest } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { storeSubscription } from './update-subscription.js';

/** Sets where a subscription is pushed to; nothing makes it one that is pulled. Its backlog stays. */
export function modifyPushConfig(services: GcpServices): Operation<ModifyPushConfigRequest, Empty> {
  return async ({ subscription, pushConfig }) => {
    const info = services.catalog.requireSubscription(subscription);
    const changed = { ...info.resource, pushConfig: pushConfig ?? create(PushConfigSchema) };
    await storeSubscription(services, info, changed);
    return create(EmptySchema);
  };
}
