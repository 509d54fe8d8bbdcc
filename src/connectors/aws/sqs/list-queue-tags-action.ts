import { operation } from '../operation.js';
import { structure } from '../wire/shape.js';
import { queueOf } from './queue-registry.js';
import { tagMap } from './queue-tags.js';
import { queueUrlOnly } from './shapes.js';

/** ListQueueTags. */
export const listQueueTags = operation({
  name: 'ListQueueTags',
  input: queueUrlOnly,
  output: structure({ Tags: tagMap }),
  run(call) {
    const { tags } = queueOf(call).record;
    return Object.keys(tags).length === 0 ? {} : { Tags: tags };
  },
});
