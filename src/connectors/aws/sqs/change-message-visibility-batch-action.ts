import { batchJson } from '../batch.js';
import type { BatchResult } from '../batch.js';
import { operation } from '../operation.js';
import { flatList, scalar, scalars, structure } from '../wire/shape.js';
import { queueOf } from './queue-registry.js';
import { runReceiptBatch } from './receipt-batch.js';
import { failedEntries } from './shapes.js';
import { changeAll, readVisibilityChange } from './visibility.js';

const ENTRY = 'ChangeMessageVisibilityBatchRequestEntry';

/** ChangeMessageVisibilityBatch: up to ten changes. */
export const changeMessageVisibilityBatch = operation<BatchResult<{ readonly Id: string }>>({
  name: 'ChangeMessageVisibilityBatch',
  input: structure({
    QueueUrl: scalar,
    Entries: flatList(ENTRY, scalars('Id', 'ReceiptHandle', 'VisibilityTimeout')),
  }),
  output: structure({
    Successful: flatList('ChangeMessageVisibilityBatchResultEntry', scalars('Id')),
    Failed: failedEntries,
  }),
  async run(call) {
    const queue = queueOf(call);
    return runReceiptBatch(call, {
      shape: ENTRY,
      read: (input) => readVisibilityChange(call, queue, input),
      act: (changes) => changeAll(call, queue, changes),
    });
  },
  toJson: (result) => batchJson(result, () => ''),
});
