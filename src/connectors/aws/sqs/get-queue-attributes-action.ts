import { SQS_FAULTS } from '../errors.js';
import { textsOf } from '../input.js';
import { queueArn } from '../names.js';
import { operation } from '../operation.js';
import type { AwsServices } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { flatList, flatMap, scalar, structure } from '../wire/shape.js';
import { effectiveAttributes, isQueueAttributeName } from './queue-attributes.js';
import { queueOf } from './queue-registry.js';
import type { Queue } from './queue-registry.js';

/** GetQueueAttributes: the asked ones; none asked, none given. Counters are exact. */
export const getQueueAttributes = operation({
  name: 'GetQueueAttributes',
  input: structure({ QueueUrl: scalar, AttributeNames: flatList('AttributeName') }),
  output: structure({ Attributes: flatMap('Attribute') }),
  run(call) {
    const queue = queueOf(call);
    const asked = new Set(textsOf(call.input, 'AttributeNames'));
    for (const name of asked) {
      if (!isQueueAttributeName(name)) {
        throw new AwsFault(SQS_FAULTS.invalidAttributeName, `Unknown Attribute ${name}.`);
      }
    }
    const chosen = [...allAttributes(call.services, queue)].filter(
      ([name]) => asked.has('All') || asked.has(name),
    );
    return chosen.length === 0 ? {} : { Attributes: Object.fromEntries(chosen) };
  },
});

function allAttributes({ broker, config }: AwsServices, queue: Queue): Map<string, string> {
  const stats = broker.queueStats(queue.channel);
  return new Map([
    ['QueueArn', queueArn(config, queue.name)],
    ['ApproximateNumberOfMessages', String(stats?.ready ?? 0)],
    ['ApproximateNumberOfMessagesNotVisible', String(stats?.inFlight ?? 0)],
    ['ApproximateNumberOfMessagesDelayed', String(stats?.delayed ?? 0)],
    ['CreatedTimestamp', String(queue.record.createdAt)],
    ['LastModifiedTimestamp', String(queue.record.modifiedAt)],
    ...effectiveAttributes(queue.record.attributes, queue.fifo),
  ]);
}
