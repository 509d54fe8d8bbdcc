import type { GcpServices } from '../services.js';
import type { Operations } from '../unary.js';
import { acknowledge } from './acknowledge.js';
import { createSubscription } from './create-subscription.js';
import { deleteSubscription } from './delete-subscription.js';
import { getSubscription } from './get-subscription.js';
import { listSubscriptions } from './list-subscriptions.js';
import { modifyAckDeadline } from './modify-ack-deadline.js';
import { pull } from './pull.js';

/** google.pubsub.v1.Subscriber, but for StreamingPull, which is no single request. */
export function subscriberOperations(services: GcpServices): Operations {
  return {
    acknowledge: acknowledge(services),
    createSubscription: createSubscription(services),
    deleteSubscription: deleteSubscription(services),
    getSubscription: getSubscription(services),
    listSubscriptions: listSubscriptions(services),
    modifyAckDeadline: modifyAckDeadline(services),
    pull: pull(services),
  };
}
