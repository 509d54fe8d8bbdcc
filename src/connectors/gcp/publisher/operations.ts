import type { GcpServices } from '../services.js';
import type { Operations } from '../unary.js';
import { createTopic } from './create-topic.js';
import { deleteTopic } from './delete-topic.js';
import { detachSubscription } from './detach-subscription.js';
import { getTopic } from './get-topic.js';
import { listTopicSnapshots } from './list-topic-snapshots.js';
import { listTopicSubscriptions } from './list-topic-subscriptions.js';
import { listTopics } from './list-topics.js';
import { publish } from './publish.js';
import { updateTopic } from './update-topic.js';

/** google.pubsub.v1.Publisher. */
export function publisherOperations(services: GcpServices): Operations {
  return {
    createTopic: createTopic(services),
    deleteTopic: deleteTopic(services),
    detachSubscription: detachSubscription(services),
    getTopic: getTopic(services),
    listTopics: listTopics(services),
    listTopicSnapshots: listTopicSnapshots(services),
    listTopicSubscriptions: listTopicSubscriptions(services),
    publish: publish(services),
    updateTopic: updateTopic(services),
  };
}
