import { batchJson } from '../batch.js';
import type { BatchResult } from '../batch.js';
import { operation } from '../operation.js';
import { flatList, scalar, scalars, structure } from '../wire/shape.js';
import { deleteAll } from './deletion.js';
import { queueOf } from './queue-registry.js';
import { readReceipt } from './receipt.js';
import { runReceiptBatch } from './receipt-batch.js';
import { failedEntries } from './shapes.js';

const ENTRY = 'DeleteMessageBatchRequestEntry';

/** DeleteMessageBatch: up to ten deletions in one step. */
export const deleteMessageBatch = operation<BatchResult<{ readonly Id: string }>>({
  name: 'DeleteMessageBatch',
  input: structure({
    QueueUrl: scalar,
    Entries: flatList(ENTRY, scalars('Id', 'ReceiptHandle')),
  }),
  output: structure({
    Successful: flatList('DeleteMessageBatchResultEntry', scalars('Id')),
    Failed: failedEntries,
  }),
  async run(call) {
    const queue = queueOf(call);
    return runReceiptBatch(call, {
      shape: ENTRY,
      read: (input) => readReceipt(call, queue, input),
      act: (receipts) => deleteAll(call, queue, receipts),
    });
  },
  toJson: (result) => batchJson(result, () => ''),
});
