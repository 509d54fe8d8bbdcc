import { operation } from '../operation.js';
import { memberList, scalar, scalars, structure } from '../wire/shape.js';
import { checkTagCount, readTags } from './tags.js';
import { taggedTopic, updateTopic } from './update-topic.js';

/** TagResource: adds tags to a topic; a known key gets the new value. */
export const tagResource = operation({
  name: 'TagResource',
  input: structure({ ResourceArn: scalar, Tags: memberList(scalars('Key', 'Value')) }),
  output: structure({}),
  async run(call) {
    const added = readTags(call.input);
    await updateTopic(call, taggedTopic, ({ record }) => {
      const tags = new Map([...Object.entries(record.tags), ...added]);
      checkTagCount(tags.size);
      return { ...record, tags: Object.fromEntries(tags) };
    });
    return {};
  },
});
