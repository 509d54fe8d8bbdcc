import type { GcpServices } from '../services.js';
import type { Operations } from '../unary.js';
import { acknowledge } from './acknowledge.js';
import { createSnapshot } from './create-snapshot.js';
import { createSubscription } from './create-subscription.js';
import { deleteSnapshot } from './delete-snapshot.js';
import { deleteSubscription } from './delete-subscription.js';
import { getSnapshot } from './get-snapshot.js';
import { getSubscription } from './get-subscription.js';
import { listSnapshots } from './list-snapshots.js';
import { listSubscriptions } from './list-subscriptions.js';
import { modifyAckDeadline } from './modify-ack-deadline.js';
import { modifyPushConfig } from './modify-push-config.js';
import { pull } from './pull.js';
import { seek } from './seek.js';
import { updateSnapshot } from './update-snapshot.js';
import { updateSubscription } from './update-subscription.js';

/** google.pubsub.v1.Subscriber, but for StreamingPull, which is no single request. */
export function subscriberOperations(services: GcpServices): Operations {
  return {
    acknowledge: acknowledge(services),
    createSnapshot: createSnapshot(services),
    createSubscription: createSubscription(services),
    deleteSnapshot: deleteSnapshot(services),
    deleteSubscription: deleteSubscription(services),
    getSnapshot: getSnapshot(services),
    getSubscription: getSubscription(services),
    listSnapshots: listSnapshots(services),
    listSubscriptions: listSubscriptions(services),
    modifyAckDeadline: modifyAckDeadline(services),
    modifyPushConfig: modifyPushConfig(services),
    pull: pull(services),
    seek: seek(services),
    updateSnapshot: updateSnapshot(services),
    updateSubscription: updateSubscription(services),
  };
}
