import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { queueOf } from './queue-registry.js';
import { changeAll, readVisibilityChange } from './visibility.js';

/** ChangeMessageVisibility: extends or ends the time a received message stays hidden. */
export const changeMessageVisibility = operation({
  name: 'ChangeMessageVisibility',
  input: structure({ QueueUrl: scalar, ReceiptHandle: scalar, VisibilityTimeout: scalar }),
  output: undefined,
  async run(call) {
    const queue = queueOf(call);
    const [fault] = await changeAll(call, queue, [readVisibilityChange(call, queue, call.input)]);
    if (fault !== undefined) throw fault;
  },
});
