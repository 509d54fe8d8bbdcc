import type { Operation } from '../operation.js';
import { createTopic } from './create-topic-action.js';
import { deleteTopic } from './delete-topic-action.js';
import { getSubscriptionAttributes } from './get-subscription-attributes-action.js';
import { getTopicAttributes } from './get-topic-attributes-action.js';
import { listSubscriptions } from './list-subscriptions-action.js';
import { listSubscriptionsByTopic } from './list-subscriptions-by-topic-action.js';
import { listTopics } from './list-topics-action.js';
import { publish } from './publish-action.js';
import { publishBatch } from './publish-batch-action.js';
import { setSubscriptionAttributes } from './set-subscription-attributes-action.js';
import { subscribe } from './subscribe-action.js';
import { unsubscribe } from './unsubscribe-action.js';

/** Every operation of SNS that is served, by name. */
export const SNS_OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  [
    createTopic,
    deleteTopic,
    getSubscriptionAttributes,
    getTopicAttributes,
    listSubscriptions,
    listSubscriptionsByTopic,
    listTopics,
    publish,
    publishBatch,
    setSubscriptionAttributes,
    subscribe,
    unsubscribe,
  ].map((operation) => [operation.name, operation]),
);
