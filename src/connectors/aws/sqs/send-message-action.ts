import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { bodiesOf, prepareMessage, sentFieldsJson, sentMessage } from './outgoing-message.js';
import type { SentMessage } from './outgoing-message.js';
import { queueOf } from './queue-registry.js';
import { outgoingFields, sentFields } from './shapes.js';

/** SendMessage: one message, answered when it is durable. */
export const sendMessage = operation<SentMessage>({
  name: 'SendMessage',
  input: structure({ QueueUrl: scalar, ...outgoingFields }),
  output: structure(sentFields),
  long: bodiesOf((input) => [input]),
  async run(call) {
    const queue = queueOf(call);
    const prepared = prepareMessage(call, queue, call.input, call.strings?.[0]);
    const [outcome] = await call.services.broker.send([prepared.message]);
    return sentMessage(queue, prepared, outcome);
  },
  toJson: (sent) => `{${sentFieldsJson(sent)}}`,
});
