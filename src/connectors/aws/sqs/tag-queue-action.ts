import { missingParameter } from '../errors.js';
import { textMapOf } from '../input.js';
import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { checkTags, tagMap } from './queue-tags.js';
import { updateQueue } from './set-queue-attributes-action.js';

/** TagQueue: adds tags; a known key gets the new value. */
export const tagQueue = operation({
  name: 'TagQueue',
  input: structure({ QueueUrl: scalar, Tags: tagMap }),
  output: undefined,
  async run(call) {
    const added = textMapOf(call.input, 'Tags');
    if (added.size === 0) throw missingParameter('Tags');
    await updateQueue(call, ({ name, record }) => {
      const tags = new Map([...Object.entries(record.tags), ...added]);
      checkTags(name, tags);
      return { attributes: record.attributes, tags: Object.fromEntries(tags) };
    });
  },
});
