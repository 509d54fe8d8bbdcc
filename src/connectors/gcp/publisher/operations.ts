import type { GcpServices } from '../services.js';
import type { Operations } from '../unary.js';
import { createTopic } from './create-topic.js';
import { deleteTopic } from './delete-topic.js';
import { getTopic } from './get-topic.js';
import { listTopics } from './list-topics.js';
import { publish } from './publish.js';

/** google.pubsub.v1.Publisher. */
export function publisherOperations(services: GcpServices): Operations {
  return {
    createTopic: createTopic(services),
    deleteTopic: deleteTopic(services),
    getTopic: getTopic(services),
    listTopics: listTopics(services),
    publish: publish(services),
  };
}
