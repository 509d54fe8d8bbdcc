import type { GcpServices } from '../services.js';
import type { Operations } from '../unary.js';
import type { Sandbox } from './sandbox.js';
import { testMessageTransforms } from './test-message-transforms.js';
import { validateMessageTransform } from './validate-message-transform.js';

/** polymq.pubsub.v1.MessageTransformService: two methods that Google serves over REST only. */
export function transformOperations(services: GcpServices, sandbox: Sandbox): Operations {
  return {
    testMessageTransforms: testMessageTransforms(services, sandbox),
    validateMessageTransform: validateMessageTransform(sandbox),
  };
}
