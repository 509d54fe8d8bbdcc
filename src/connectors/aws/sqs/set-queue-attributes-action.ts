import { BrokerError } from '../../../core/errors.js';
import { missingParameter, SQS_FAULTS } from '../errors.js';
import { textMapOf } from '../input.js';
import { queueArn } from '../names.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { flatMap, scalar, structure } from '../wire/shape.js';
import { checkAttributes, mergeAttributes, settingsBehindAlias, settingsOf } from './queue-attributes.js';
import type { QueueAttributes } from './queue-attributes.js';
import { QUEUE_KIND, queueOf } from './queue-registry.js';
import type { Queue, QueueRecord } from './queue-registry.js';
import { checkDeadLetterQueue } from './redrive-policy.js';

/** Tries against concurrent writers before the client is told to try itself. */
const ATTEMPTS_MAX = 5;

/** SetQueueAttributes: registry entry and channel settings change together. */
export const setQueueAttributes = operation({
  name: 'SetQueueAttributes',
  input: structure({ QueueUrl: scalar, Attributes: flatMap('Attribute') }),
  output: undefined,
  async run(call) {
    const given = textMapOf(call.input, 'Attributes');
    if (given.size === 0) throw missingParameter('Attributes');
    await updateQueue(call, (queue) => {
      const changes = checkAttributes(given, queue.fifo);
      if (changes.get('FifoQueue') === 'false') {
        throw new AwsFault(
          SQS_FAULTS.invalidAttributeValue,
          'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.',
        );
      }
      const policy = changes.get('RedrivePolicy');
      if (policy !== undefined && policy !== '') {
        const { config, queues } = call.services;
        const source = { arn: queueArn(config, queue.name), fifo: queue.fifo };
        checkDeadLetterQueue(policy, source, (name) => queues.find(name));
      }
      return { attributes: mergeAttributes(queue.record.attributes, changes), tags: queue.record.tags };
    });
  },
});

/** Writes a changed record of the request's queue, compare-and-set, with the settings that follow from it. */
export async function updateQueue(
  call: Call,
  change: (queue: Queue) => { readonly attributes: QueueAttributes; readonly tags: QueueRecord['tags'] },
): Promise<void> {
  const { broker, clock } = call.services;
  for (let attempt = 1; ; attempt++) {
    const queue = queueOf(call);
    const record: QueueRecord = {
      ...change(queue),
      createdAt: queue.record.createdAt,
      modifiedAt: Math.floor(clock.now() / 1000),
    };
    const own = broker.resolve(queue.channel) === queue.channel;
    const settings = own
      ? settingsOf(record.attributes, queue.fifo)
      : settingsBehindAlias(record.attributes, queue.record.attributes);
    try {
      await broker.change([
        { do: 'put', kind: QUEUE_KIND, key: queue.name, value: record, expected: queue.version },
        { do: 'update-queue', channel: queue.channel, settings },
      ]);
      return;
    } catch (error) {
      if (BrokerError.from(error).kind !== 'precondition' || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}
