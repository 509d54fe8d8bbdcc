import { missingParameter, queueDoesNotExist } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { queueUrl } from '../urls.js';
import { scalar, structure } from '../wire/shape.js';

/** GetQueueUrl: the URL of a queue by name, with the host the client used. */
export const getQueueUrl = operation({
  name: 'GetQueueUrl',
  input: structure({ QueueName: scalar, QueueOwnerAWSAccountId: scalar }),
  output: structure({ QueueUrl: scalar }),
  run(call) {
    const name = optionalText(call.input, 'QueueName');
    if (name === undefined || name === '') throw missingParameter('QueueName');
    const { queues, config } = call.services;
    if (queues.find(name) === undefined) throw queueDoesNotExist();
    return { QueueUrl: queueUrl(call.origin, config, name) };
  },
});
