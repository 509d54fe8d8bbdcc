import { failedEntry, readBatch } from '../batch.js';
import type { FailedEntry } from '../batch.js';
import { faultOf, SNS_FAULTS } from '../errors.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { memberList, scalar, scalars, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { fanOut } from './fan-out.js';
import { MESSAGE_BYTES_MAX, readPublication } from './publication.js';
import type { Publication } from './publication.js';
import { publicationFields } from './publish-action.js';

/** PublishBatch: up to ten messages in one entry; a bad one fails alone. */
export const publishBatch = operation({
  name: 'PublishBatch',
  input: structure({
    TopicArn: scalar,
    PublishBatchRequestEntries: memberList(structure({ Id: scalar, ...publicationFields })),
  }),
  output: structure({
    Successful: memberList(scalars('Id', 'MessageId')),
    Failed: memberList(scalars('Id', 'Code', 'Message', 'SenderFault')),
  }),
  async run(call) {
    const topic = topicOf(call, call.input);
    const entries = readBatch(call.input, 'PublishBatchRequestEntries', SNS_FAULTS);
    const failed: FailedEntry[] = [];
    const successful: { readonly Id: string; readonly MessageId: string }[] = [];
    const publications: Publication[] = [];
    let bytes = 0;
    for (const { id, input } of entries) {
      try {
        const publication = readPublication(call, input);
        bytes += publication.bytes;
        publications.push(publication);
        successful.push({ Id: id, MessageId: publication.messageId });
      } catch (error) {
        failed.push(failedEntry(id, faultOf('sns', error)));
      }
    }
    if (bytes > MESSAGE_BYTES_MAX) {
      throw new AwsFault(
        SNS_FAULTS.batchRequestTooLong,
        `The length of all the messages put together is more than the limit: ${MESSAGE_BYTES_MAX}.`,
      );
    }
    if (publications.length > 0) await fanOut(call, topic.name, publications);
    return { Successful: successful, Failed: failed };
  },
});
