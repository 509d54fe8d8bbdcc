import { invalidValue, missingParameter } from '../errors.js';
import { optionalInteger, optionalText } from '../input.js';
import { queueArn } from '../names.js';
import { operation } from '../operation.js';
import { flatList, scalar, scalars, structure } from '../wire/shape.js';
import { moveTaskHandle, queueOfArn } from './move-task-handle.js';
import { MOVE_TASKS_MAX } from './move-tasks.js';

/** ListMessageMoveTasks: the last tasks of a queue, newest first; one unless more are asked for. */
export const listMessageMoveTasks = operation({
  name: 'ListMessageMoveTasks',
  input: structure({ SourceArn: scalar, MaxResults: scalar }),
  output: structure({
    Results: flatList(
      'ListMessageMoveTasksResultEntry',
      scalars(
        'TaskHandle',
        'Status',
        'SourceArn',
        'DestinationArn',
        'MaxNumberOfMessagesPerSecond',
        'ApproximateNumberOfMessagesMoved',
        'ApproximateNumberOfMessagesToMove',
        'FailureReason',
        'StartedTimestamp',
      ),
    ),
  }),
  run(call) {
    const { config, moveTasks } = call.services;
    const arn = optionalText(call.input, 'SourceArn');
    if (arn === undefined || arn === '') throw missingParameter('SourceArn');
    const source = queueOfArn(call, 'SourceArn', arn);
    const max = optionalInteger(call.input, 'MaxResults') ?? 1;
    if (max < 1 || max > MOVE_TASKS_MAX) {
      throw invalidValue(String(max), 'MaxResults', `Must be between 1 and ${MOVE_TASKS_MAX}, if provided.`);
    }
    const sourceArn = queueArn(config, source.name);
    const tasks = moveTasks.list(source.name).slice(0, max);
    if (tasks.length === 0) return {};
    return {
      Results: tasks.map((task) => ({
        TaskHandle: task.status === 'RUNNING' ? moveTaskHandle(task.id, sourceArn) : undefined,
        Status: task.status,
        SourceArn: sourceArn,
        DestinationArn: task.destination === undefined ? undefined : queueArn(config, task.destination),
        MaxNumberOfMessagesPerSecond: task.rate,
        ApproximateNumberOfMessagesMoved: task.moved,
        ApproximateNumberOfMessagesToMove: task.toMove,
        FailureReason: task.failureReason,
        StartedTimestamp: task.startedAt,
      })),
    };
  },
});
