import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { deleteAll } from './deletion.js';
import { queueOf } from './queue-registry.js';
import { readReceipt } from './receipt.js';

/** DeleteMessage. The answer does not wait for the disk: losing a deletion means one more delivery. */
export const deleteMessage = operation({
  name: 'DeleteMessage',
  input: structure({ QueueUrl: scalar, ReceiptHandle: scalar }),
  output: undefined,
  async run(call) {
    const queue = queueOf(call);
    const [fault] = await deleteAll(call, queue, [readReceipt(call, queue, call.input)]);
    if (fault !== undefined) throw fault;
  },
});
