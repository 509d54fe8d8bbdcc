import { BATCH_ENTRIES_MAX, failedEntry } from '../batch.js';
import type { BatchEntry, FailedEntry } from '../batch.js';
import { faultOf, missingParameter, SNS_FAULTS } from '../errors.js';
import { listOf, optionalText, structureOf } from '../input.js';
import type { Input } from '../input.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { memberList, scalar, scalars, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { deliver } from './fan-out.js';
import { checkBatch, MESSAGE_BYTES_MAX, readPublication } from './publication.js';
import type { Publication } from './publication.js';
import { publicationFields } from './publish-action.js';

const ID_CHARS_MAX = 80;

/** PublishBatch: up to ten messages in one entry; one with a bad message fails alone. */
export const publishBatch = operation({
  name: 'PublishBatch',
  input: structure({
    TopicArn: scalar,
    PublishBatchRequestEntries: memberList(structure({ Id: scalar, ...publicationFields })),
  }),
  output: structure({
    Successful: memberList(scalars('Id', 'MessageId', 'SequenceNumber')),
    Failed: memberList(scalars('Id', 'Code', 'Message', 'SenderFault')),
  }),
  async run(call) {
    const topic = topicOf(call, call.input);
    const entries = readEntries(call.input);
    checkBatch(
      topic,
      entries.map(({ input }) => input),
    );
    const failed: FailedEntry[] = [];
    const ids: string[] = [];
    const publications: Publication[] = [];
    let bytes = 0;
    for (const [index, { id, input }] of entries.entries()) {
      try {
        const publication = readPublication(call, topic, input, index + 1);
        bytes += publication.bytes;
        publications.push(publication);
        ids.push(id);
      } catch (error) {
        const fault = faultOf('sns', error);
        // Attributes that cannot be read fail the whole request, as on AWS.
        if (fault.kind !== SNS_FAULTS.invalidParameter) throw fault;
        failed.push(failedEntry(id, fault));
      }
    }
    if (bytes > MESSAGE_BYTES_MAX) {
      throw new AwsFault(
        SNS_FAULTS.batchRequestTooLong,
        'The length of all the messages put together is more than the limit.',
      );
    }
    const published = publications.length === 0 ? [] : await deliver(call, topic, publications);
    return { Successful: published.map((one, i) => ({ Id: ids[i], ...one })), Failed: failed };
  },
});

/** 1 to 10 entries with legal and distinct ids. Throws SNS's faults of batches. */
function readEntries(input: Input): readonly BatchEntry[] {
  const list = listOf(input, 'PublishBatchRequestEntries');
  if (list.length === 0) {
    throw new AwsFault(SNS_FAULTS.emptyBatchRequest, "The batch request doesn't contain any entries.");
  }
  if (list.length > BATCH_ENTRIES_MAX) {
    throw new AwsFault(
      SNS_FAULTS.tooManyEntriesInBatchRequest,
      'The batch request contains more entries than permissible.',
    );
  }
  const entries = list.map((raw) => {
    const entry = structureOf(raw, 'PublishBatchRequestEntries');
    const id = optionalText(entry, 'Id');
    if (id === undefined || id === '') throw missingParameter('Id');
    return { id, input: entry };
  });
  if (new Set(entries.map(({ id }) => id)).size < entries.length) {
    throw new AwsFault(
      SNS_FAULTS.batchEntryIdsNotDistinct,
      'Two or more batch entries in the request have the same Id.',
    );
  }
  for (const { id } of entries) {
    if (id.length > ID_CHARS_MAX) {
      throw new AwsFault(
        SNS_FAULTS.invalidBatchEntryId,
        `The Id of a batch entry in the batch request is too long: ${id.slice(0, 200)}`,
      );
    }
    if (!/^[A-Za-z0-9_-]+$/.test(id)) {
      throw new AwsFault(
        SNS_FAULTS.invalidBatchEntryId,
        `The Id of a batch entry in the batch request contains an impermissible character: ${id}`,
      );
    }
  }
  return entries;
}
