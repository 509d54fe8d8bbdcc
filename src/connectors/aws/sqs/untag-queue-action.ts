import { invalidParameterValue } from '../errors.js';
import { textsOf } from '../input.js';
import { operation } from '../operation.js';
import { flatList, scalar, structure } from '../wire/shape.js';
import { updateQueue } from './set-queue-attributes-action.js';

/** UntagQueue: unknown keys are fine. */
export const untagQueue = operation({
  name: 'UntagQueue',
  input: structure({ QueueUrl: scalar, TagKeys: flatList('TagKey') }),
  output: undefined,
  async run(call) {
    const keys = new Set(textsOf(call.input, 'TagKeys'));
    if (keys.size === 0) {
      throw invalidParameterValue('Tag keys must be between 1 and 128 characters in length.');
    }
    await updateQueue(call, ({ record }) => ({
      attributes: record.attributes,
      tags: Object.fromEntries(Object.entries(record.tags).filter(([key]) => !keys.has(key))),
    }));
  },
});
