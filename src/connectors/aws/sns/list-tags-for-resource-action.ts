import { operation } from '../operation.js';
import { memberList, scalar, scalars, structure } from '../wire/shape.js';
import { taggedTopic } from './update-topic.js';

/** ListTagsForResource: the tags of a topic. */
export const listTagsForResource = operation({
  name: 'ListTagsForResource',
  input: structure({ ResourceArn: scalar }),
  output: structure({ Tags: memberList(scalars('Key', 'Value')) }),
  run(call) {
    const { tags } = taggedTopic(call).record;
    return { Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })) };
  },
});
