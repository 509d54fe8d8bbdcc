import { SQS_FAULTS } from '../errors.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { queueOf } from './queue-registry.js';
import { queueUrlOnly } from './shapes.js';

const COOLDOWN_MS = 60_000;

/** PurgeQueue: everything goes, also what is delayed or in flight; at most once a minute. */
export const purgeQueue = operation({
  name: 'PurgeQueue',
  input: queueUrlOnly,
  output: undefined,
  async run(call) {
    const queue = queueOf(call);
    const { broker, clock, queues } = call.services;
    if (!queues.tryPurge(queue.name, clock.now(), COOLDOWN_MS)) {
      throw new AwsFault(
        SQS_FAULTS.purgeQueueInProgress,
        `Only one PurgeQueue operation on ${queue.name} is allowed every 60 seconds.`,
      );
    }
    await broker.purge(queue.channel, { ready: true, delayed: true, inFlight: true });
  },
});
