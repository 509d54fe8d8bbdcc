import { batchResult, failedEntry, readBatch } from '../batch.js';
import type { FailedEntry } from '../batch.js';
import { faultOf, invalidParameterValue, SQS_FAULTS } from '../errors.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { flatList, scalar, structure } from '../wire/shape.js';
import { prepareMessage, sentMessage } from './outgoing-message.js';
import type { PreparedMessage, SentMessage } from './outgoing-message.js';
import { queueOf } from './queue-registry.js';
import { failedEntries, outgoingFields, sentFields } from './shapes.js';

const BATCH_BYTES_MAX = 1_048_576;

type SentEntry = SentMessage & { readonly Id: string };

/** SendMessageBatch: up to ten messages in one atomic entry; a bad one fails alone. */
export const sendMessageBatch = operation({
  name: 'SendMessageBatch',
  input: structure({
    QueueUrl: scalar,
    Entries: flatList('SendMessageBatchRequestEntry', structure({ Id: scalar, ...outgoingFields })),
  }),
  output: structure({
    Successful: flatList('SendMessageBatchResultEntry', structure({ Id: scalar, ...sentFields })),
    Failed: failedEntries,
  }),
  async run(call) {
    const queue = queueOf(call);
    const entries = readBatch(call.input, 'Entries', SQS_FAULTS);
    if (queue.fifo && entries.some(({ input }) => input['MessageGroupId'] === undefined)) {
      throw invalidParameterValue('The request must contain the parameter MessageGroupId.');
    }
    const failed: FailedEntry[] = [];
    const ids: string[] = [];
    const prepared: PreparedMessage[] = [];
    let bytes = 0;
    for (const { id, input } of entries) {
      try {
        const ready = prepareMessage(call, queue, input);
        ids.push(id);
        prepared.push(ready);
        bytes += ready.bytes;
      } catch (error) {
        failed.push(failedEntry(id, faultOf('sqs', error)));
      }
    }
    if (bytes > BATCH_BYTES_MAX) {
      throw new AwsFault(
        SQS_FAULTS.batchRequestTooLong,
        `Batch requests cannot be longer than ${BATCH_BYTES_MAX} bytes. You have sent ${bytes} bytes.`,
      );
    }
    if (prepared.length === 0) return batchResult<SentEntry>([], failed);
    const outcomes = await call.services.broker.send(prepared.map(({ message }) => message));
    const successful: SentEntry[] = [];
    for (const [i, ready] of prepared.entries()) {
      const id = ids[i] ?? '';
      try {
        successful.push({ Id: id, ...sentMessage(queue, ready, outcomes[i]) });
      } catch (error) {
        failed.push(failedEntry(id, faultOf('sqs', error)));
      }
    }
    return batchResult(successful, failed);
  },
});
