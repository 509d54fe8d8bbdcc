import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { prepareMessage, sentMessage } from './outgoing-message.js';
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
    const prepared = prepareMessage(call, queue, call.input);
    const [outcome] = await call.services.broker.send([prepared.message]);
    return sentMessage(queue, prepared, outcome);
  },
  toJson: sentMessageJson,
});

/** Every value is plain ASCII of ours: nothing needs escaping. */
function sentMessageJson(sent: SentMessage): string {
  let out = `{"MD5OfMessageBody":"${sent.MD5OfMessageBody}","MessageId":"${sent.MessageId}"`;
  if (sent.MD5OfMessageAttributes !== undefined) {
    out += `,"MD5OfMessageAttributes":"${sent.MD5OfMessageAttributes}"`;
  }
  if (sent.MD5OfMessageSystemAttributes !== undefined) {
    out += `,"MD5OfMessageSystemAttributes":"${sent.MD5OfMessageSystemAttributes}"`;
  }
  if (sent.SequenceNumber !== undefined) out += `,"SequenceNumber":"${sent.SequenceNumber}"`;
  return out + '}';
}
