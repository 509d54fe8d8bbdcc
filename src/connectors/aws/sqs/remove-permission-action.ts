import { operation } from '../operation.js';
import { scalars } from '../wire/shape.js';
import { withoutStatement } from './access-policy.js';
import { readLabel } from './add-permission-action.js';
import { mergeChecked } from './queue-attributes.js';
import { updateQueue } from './set-queue-attributes-action.js';

/** RemovePermission: takes a statement out of the queue's Policy; with the last one the Policy goes. */
export const removePermission = operation({
  name: 'RemovePermission',
  input: scalars('QueueUrl', 'Label'),
  output: undefined,
  async run(call) {
    const label = readLabel(call.input);
    await updateQueue(call, (queue) =>
      mergeChecked(queue, new Map([['Policy', withoutStatement(queue, label)]])),
    );
  },
});
