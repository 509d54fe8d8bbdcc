import type { ServiceHandlers } from '../../kit/grpc-call.js';
import type { GcpServices } from '../services.js';
import { unary } from '../unary.js';
import { acknowledge } from './acknowledge.js';
import { createSubscription } from './create-subscription.js';
import { deleteSubscription } from './delete-subscription.js';
import { getSubscription } from './get-subscription.js';
import { listSubscriptions } from './list-subscriptions.js';
import { modifyAckDeadline } from './modify-ack-deadline.js';
import { pull } from './pull.js';
import { streamingPull } from './streaming-pull.js';

/** google.pubsub.v1.Subscriber. Methods that are not here answer UNIMPLEMENTED. */
export function subscriberService(services: GcpServices): ServiceHandlers {
  return {
    acknowledge: unary(services, acknowledge(services)),
    createSubscription: unary(services, createSubscription(services)),
    deleteSubscription: unary(services, deleteSubscription(services)),
    getSubscription: unary(services, getSubscription(services)),
    listSubscriptions: unary(services, listSubscriptions(services)),
    modifyAckDeadline: unary(services, modifyAckDeadline(services)),
    pull: unary(services, pull(services)),
    streamingPull: streamingPull(services),
  };
}
