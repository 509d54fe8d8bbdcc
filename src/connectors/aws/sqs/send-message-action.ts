import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { md5Hex } from '../wire/md5.js';
import { bodiesOf, checkMessage, prepareMessage, sentFieldsJson, sentMessage } from './outgoing-message.js';
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
    const checked = checkMessage(call, queue, call.input, call.strings?.[0]);
    const prepared = prepareMessage(call, checked, md5Hex(checked.body));
    const [outcome] = await call.services.broker.send([prepared.message]);
    return sentMessage(queue, prepared, outcome);
  },
  toJson: (sent) => `{${sentFieldsJson(sent)}}`,
});
