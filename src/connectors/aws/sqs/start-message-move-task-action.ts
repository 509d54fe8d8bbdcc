import { invalidParameterValue, invalidValue, missingParameter } from '../errors.js';
import { optionalInteger, optionalText } from '../input.js';
import { queueArn } from '../names.js';
import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { moveTaskHandle, queueOfArn } from './move-task-handle.js';
import { deadLetterQueueOf } from './redrive-policy.js';

const RATE_MAX = 500;

/** StartMessageMoveTask: moves a dead-letter queue's messages to where they came from, or to one queue. */
export const startMessageMoveTask = operation({
  name: 'StartMessageMoveTask',
  input: structure({ SourceArn: scalar, DestinationArn: scalar, MaxNumberOfMessagesPerSecond: scalar }),
  output: structure({ TaskHandle: scalar }),
  async run(call) {
    const { input, services } = call;
    const { queues, config, broker, clock, ids, moveTasks } = services;
    const sourceArn = optionalText(input, 'SourceArn');
    if (sourceArn === undefined || sourceArn === '') throw missingParameter('SourceArn');
    const source = queueOfArn(call, 'SourceArn', sourceArn);
    const destinationArn = optionalText(input, 'DestinationArn');
    const destination =
      destinationArn === undefined ? undefined : queueOfArn(call, 'DestinationArn', destinationArn);
    const rate = optionalInteger(input, 'MaxNumberOfMessagesPerSecond');
    if (rate !== undefined && (rate < 1 || rate > RATE_MAX)) {
      throw invalidValue(
        String(rate),
        'MaxNumberOfMessagesPerSecond',
        `Must be between 1 and ${RATE_MAX}, if provided.`,
      );
    }
    if (!queues.list().some((queue) => deadLetterQueueOf(queue) === source.name)) {
      throw invalidParameterValue('Source queue must be configured as a Dead Letter Queue.');
    }
    if (destination?.name === source.name) {
      throw invalidParameterValue('Source queue and destination queue must be different.');
    }
    if (destination !== undefined && destination.fifo !== source.fifo) {
      throw invalidParameterValue('Source queue and destination queue must be of the same type.');
    }
    const id = ids.uuid();
    const begun = await moveTasks.begin(source.name, {
      id,
      destination: destination?.name,
      rate,
      startedAt: clock.now(),
      status: 'RUNNING',
      toMove: broker.queueStats(source.channel)?.ready ?? 0,
      moved: 0,
    });
    if (!begun) {
      throw invalidParameterValue(
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      );
    }
    return { TaskHandle: moveTaskHandle(id, queueArn(config, source.name)) };
  },
});
