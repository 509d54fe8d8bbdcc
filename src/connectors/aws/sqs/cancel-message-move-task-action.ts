import { missingParameter } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { readMoveTaskHandle, resourceNotFound } from './move-task-handle.js';

/** CancelMessageMoveTask: what was moved stays moved. */
export const cancelMessageMoveTask = operation({
  name: 'CancelMessageMoveTask',
  input: structure({ TaskHandle: scalar }),
  output: structure({ ApproximateNumberOfMessagesMoved: scalar }),
  async run({ services: { queues, moveTasks }, input }) {
    const handle = optionalText(input, 'TaskHandle');
    if (handle === undefined || handle === '') throw missingParameter('TaskHandle');
    const { taskId, source } = readMoveTaskHandle(handle);
    if (queues.find(source) === undefined) {
      throw resourceNotFound("The resource that you specified for the SourceArn parameter doesn't exist.");
    }
    const moved = await moveTasks.cancel(source, taskId);
    if (moved === undefined) throw resourceNotFound('Task does not exist.');
    return { ApproximateNumberOfMessagesMoved: moved };
  },
});
