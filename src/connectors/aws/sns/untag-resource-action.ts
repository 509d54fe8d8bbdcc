import { textsOf } from '../input.js';
import { operation } from '../operation.js';
import { memberList, scalar, structure } from '../wire/shape.js';
import { taggedTopic, updateTopic } from './update-topic.js';

/** UntagResource: a key that is not there is fine. */
export const untagResource = operation({
  name: 'UntagResource',
  input: structure({ ResourceArn: scalar, TagKeys: memberList() }),
  output: structure({}),
  async run(call) {
    const gone = new Set(textsOf(call.input, 'TagKeys'));
    await updateTopic(call, taggedTopic, ({ record }) => ({
      ...record,
      tags: Object.fromEntries(Object.entries(record.tags).filter(([key]) => !gone.has(key))),
    }));
    return {};
  },
});
