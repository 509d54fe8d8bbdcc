import { batchJson } from '../batch.js';
import type { BatchResult } from '../batch.js';
import { operation } from '../operation.js';
import { flatList, scalar, scalars, structure } from '../wire/shape.js';
import { deleteAll } from './deletion.js';
import { queueOf } from './queue-registry.js';
import { readReceipt } from './receipt.js';
import { runReceiptBatch } from './receipt-batch.js';
import { failedEntries } from './shapes.js';

/** DeleteMessageBatch: up to ten deletions in one step. */
export const deleteMessageBatch = operation<BatchResult<{ readonly Id: string }>>({
  name: 'DeleteMessageBatch',
  input: structure({
    QueueUrl: scalar,
    Entries: flatList('DeleteMessageBatchRequestEntry', scalars('Id', 'ReceiptHandle')),
  }),
  output: structure({
    Successful: flatList('DeleteMessageBatchResultEntry', scalars('Id')),
    Failed: failedEntries,
  }),
  async run(call) {
    const queue = queueOf(call);
    return runReceiptBatch(call, {
      read: (input) => readReceipt(call, queue, input),
      act: (receipts) => deleteAll(call, queue, receipts),
    });
  },
  toJson: (result) => batchJson(result, () => ''),
});
