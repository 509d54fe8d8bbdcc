import { batchJson, batchResult, failedEntry, readBatch } from '../batch.js';
import type { BatchEntry, BatchResult, FailedEntry } from '../batch.js';
import { faultOf, invalidParameterValue, SQS_FAULTS } from '../errors.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { md5HexOfAll } from '../wire/md5.js';
import { flatList, scalar, structure } from '../wire/shape.js';
import {
  bodiesOf,
  checkMessage,
  MessageTooLong,
  noDeduplicationId,
  prepareMessage,
  sentFieldsJson,
  sentMessage,
} from './outgoing-message.js';
import type { CheckedMessage, PreparedMessage, SentMessage } from './outgoing-message.js';
import { queueOf } from './queue-registry.js';
import type { Queue } from './queue-registry.js';
import { failedEntries, outgoingFields, sentFields } from './shapes.js';

const BATCH_BYTES_MAX = 1_048_576;
const ENTRY = 'SendMessageBatchRequestEntry';

/** What the sender of one message of a batch is told. */
class SentEntry implements SentMessage {
  readonly Id: string;
  readonly MD5OfMessageBody: string;
  readonly MessageId: string;
  readonly MD5OfMessageAttributes: string | undefined;
  readonly MD5OfMessageSystemAttributes: string | undefined;
  readonly SequenceNumber: string | undefined;

  constructor(id: string, sent: SentMessage) {
    this.Id = id;
    this.MD5OfMessageBody = sent.MD5OfMessageBody;
    this.MessageId = sent.MessageId;
    this.MD5OfMessageAttributes = sent.MD5OfMessageAttributes;
    this.MD5OfMessageSystemAttributes = sent.MD5OfMessageSystemAttributes;
    this.SequenceNumber = sent.SequenceNumber;
  }
}

/** SendMessageBatch: up to ten messages in one atomic entry; a bad one fails alone. */
export const sendMessageBatch = operation<BatchResult<SentEntry>>({
  name: 'SendMessageBatch',
  input: structure({
    QueueUrl: scalar,
    Entries: flatList(ENTRY, structure({ Id: scalar, ...outgoingFields })),
  }),
  output: structure({
    Successful: flatList('SendMessageBatchResultEntry', structure({ Id: scalar, ...sentFields })),
    Failed: failedEntries,
  }),
  long: bodiesOf((input) => (Array.isArray(input['Entries']) ? input['Entries'] : undefined)),
  async run(call) {
    const queue = queueOf(call);
    const entries = readBatch(call.input, { name: 'Entries', shape: ENTRY, faults: SQS_FAULTS });
    if (queue.fifo) checkOrdered(queue, entries);
    const { ids, checked, failed } = checkAll(call, queue, entries);
    if (checked.length === 0) return batchResult<SentEntry>([], failed);
    const sums = md5HexOfAll(checked.map(({ body }) => body));
    const prepared = checked.map((one, i) => prepareMessage(call, one, sums[i] as string));
    const outcomes = await call.services.broker.send(prepared.map(({ message }) => message));
    const successful: SentEntry[] = [];
    for (let i = 0; i < prepared.length; i++) {
      const id = ids[i] as string;
      try {
        const sent = sentMessage(queue, prepared[i] as PreparedMessage, outcomes[i]);
        successful.push(new SentEntry(id, sent));
      } catch (error) {
        failed.push(failedEntry(id, faultOf('sqs', error)));
      }
    }
    return batchResult(successful, failed);
  },
  toJson: (result) => batchJson(result, (sent) => `,${sentFieldsJson(sent)}`),
});

/** What is missing of a message of a FIFO queue fails the whole batch. Throws InvalidParameterValue. */
function checkOrdered({ contentBasedDedup }: Queue, entries: readonly BatchEntry[]): void {
  if (entries.some(({ input }) => input['MessageGroupId'] === undefined)) {
    throw invalidParameterValue('The request must contain the parameter MessageGroupId.');
  }
  if (!contentBasedDedup && entries.some(({ input }) => input['MessageDeduplicationId'] === undefined)) {
    throw noDeduplicationId();
  }
}

/** Checks all entries; bad ones are in `failed`. Throws BatchRequestTooLong. */
function checkAll(
  call: Call,
  queue: Queue,
  entries: readonly BatchEntry[],
): {
  readonly ids: readonly string[];
  /** Each at the place of its id. */
  readonly checked: readonly CheckedMessage[];
  readonly failed: FailedEntry[];
} {
  const ids: string[] = [];
  const checked: CheckedMessage[] = [];
  const failed: FailedEntry[] = [];
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) {
    const { id, input } = entries[i] as BatchEntry;
    const plainBody = call.strings?.[i];
    try {
      const message = checkMessage(call, queue, input, plainBody);
      checked.push(message);
      ids.push(id);
      bytes += message.bytes;
    } catch (error) {
      failed.push(failedEntry(id, error instanceof MessageTooLong ? error.ofBatch : faultOf('sqs', error)));
      const body = plainBody ?? input['MessageBody'];
      if (typeof body === 'string') bytes += Buffer.byteLength(body);
      else if (Buffer.isBuffer(body)) bytes += body.length;
    }
  }
  if (bytes > BATCH_BYTES_MAX) {
    throw new AwsFault(
      SQS_FAULTS.batchRequestTooLong,
      `Batch requests cannot be longer than ${BATCH_BYTES_MAX} bytes. You have sent ${bytes} bytes.`,
    );
  }
  return { ids, checked, failed };
}
