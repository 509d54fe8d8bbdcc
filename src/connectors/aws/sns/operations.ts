import type { Operation } from '../operation.js';
import { addPermission } from './add-permission-action.js';
import { confirmSubscription } from './confirm-subscription-action.js';
import { createTopic } from './create-topic-action.js';
import { deleteTopic } from './delete-topic-action.js';
import { getDataProtectionPolicy } from './get-data-protection-policy-action.js';
import { getSubscriptionAttributes } from './get-subscription-attributes-action.js';
import { getTopicAttributes } from './get-topic-attributes-action.js';
import { listSubscriptions } from './list-subscriptions-action.js';
import { listSubscriptionsByTopic } from './list-subscriptions-by-topic-action.js';
import { listTagsForResource } from './list-tags-for-resource-action.js';
import { listTopics } from './list-topics-action.js';
import { MOBILE_PUSH_OPERATIONS } from './mobile-push.js';
import { publish } from './publish-action.js';
import { publishBatch } from './publish-batch-action.js';
import { putDataProtectionPolicy } from './put-data-protection-policy-action.js';
import { removePermission } from './remove-permission-action.js';
import { setSubscriptionAttributes } from './set-subscription-attributes-action.js';
import { setTopicAttributes } from './set-topic-attributes-action.js';
import { SMS_OPERATIONS } from './sms.js';
import { subscribe } from './subscribe-action.js';
import { tagResource } from './tag-resource-action.js';
import { unsubscribe } from './unsubscribe-action.js';
import { untagResource } from './untag-resource-action.js';

/** Every operation of SNS, by name. */
export const SNS_OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  [
    addPermission,
    confirmSubscription,
    createTopic,
    deleteTopic,
    getDataProtectionPolicy,
    getSubscriptionAttributes,
    getTopicAttributes,
    listSubscriptions,
    listSubscriptionsByTopic,
    listTagsForResource,
    listTopics,
    publish,
    publishBatch,
    putDataProtectionPolicy,
    removePermission,
    setSubscriptionAttributes,
    setTopicAttributes,
    subscribe,
    tagResource,
    unsubscribe,
    untagResource,
    ...MOBILE_PUSH_OPERATIONS,
    ...SMS_OPERATIONS,
  ].map((operation) => [operation.name, operation]),
);
