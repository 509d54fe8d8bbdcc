import type { ServiceHandlers } from '../../kit/grpc-call.js';
import type { GcpServices } from '../services.js';
import { unary } from '../unary.js';
import { createTopic } from './create-topic.js';
import { deleteTopic } from './delete-topic.js';
import { getTopic } from './get-topic.js';
import { listTopics } from './list-topics.js';
import { publish } from './publish.js';

/** google.pubsub.v1.Publisher. Methods that are not here answer UNIMPLEMENTED. */
export function publisherService(services: GcpServices): ServiceHandlers {
  return {
    createTopic: unary(services, createTopic(services)),
    deleteTopic: unary(services, deleteTopic(services)),
    getTopic: unary(services, getTopic(services)),
    listTopics: unary(services, listTopics(services)),
    publish: unary(services, publish(services)),
  };
}
