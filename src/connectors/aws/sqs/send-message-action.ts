import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { plainBodies, prepareMessage, sentFieldsJson, sentMessage } from './outgoing-message.js';
import type { SentMessage } from './outgoing-message.js';
import { queueOf } from './queue-registry.js';
import { outgoingFields, sentFields } from './shapes.js';

/** SendMessage: one message, answered when it is durable. */
export const sendMessage = operation<SentMessage>({
  name: 'SendMessage',
  input: structure({ QueueUrl: scalar, ...outgoingFields }),
  output: structure(sentFields),
  async run(call) {
    const queue = queueOf(call);
    const prepared = prepareMessage(call, queue, call.input, plainBodies(call, [call.input])?.[0]);
    const [outcome] = await call.services.broker.send([prepared.message]);
    return sentMessage(queue, prepared, outcome);
  },
  toJson: (sent) => `{${sentFieldsJson(sent)}}`,
});
