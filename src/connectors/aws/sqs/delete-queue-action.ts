import type { Change } from '../../../core/registry/types.js';
import { operation } from '../operation.js';
import { restName } from './deleted-queues.js';
import { MOVE_TASKS_KIND } from './move-tasks.js';
import { QUEUE_KIND, queueOf } from './queue-registry.js';
import { queueUrlOnly } from './shapes.js';

/** DeleteQueue: the queue and all its messages go. Behind an alias only the SQS side goes: the channel is another's. */
export const deleteQueue = operation({
  name: 'DeleteQueue',
  input: queueUrlOnly,
  output: undefined,
  async run(call) {
    const queue = queueOf(call);
    const { broker } = call.services;
    const changes: Change[] = [
      { do: 'remove', kind: QUEUE_KIND, key: queue.name },
      { do: 'remove', kind: MOVE_TASKS_KIND, key: queue.name },
      ...restName(call.services, queue.name),
    ];
    if (broker.resolve(queue.channel) === queue.channel) {
      changes.push({ do: 'delete-queue', channel: queue.channel });
    }
    await broker.change(changes);
  },
});
