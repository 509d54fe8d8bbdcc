import type { Change } from '../../../core/registry/types.js';
import type { QueueSettings } from '../../../core/queue/types.js';
import { BrokerError } from '../../../core/errors.js';
import { invalidParameterValue, missingParameter, SQS_FAULTS } from '../errors.js';
import { optionalText, textMapOf } from '../input.js';
import { FIFO_SUFFIX, queueArn, queueChannel } from '../names.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { queueUrl } from '../urls.js';
import { AwsFault } from '../wire/fault.js';
import { flatMap, scalar, structure } from '../wire/shape.js';
import { requireRested } from './deleted-queues.js';
import {
  checkAttributes,
  effectiveAttribute,
  mergeAttributes,
  settingsBehindAlias,
  settingsOf,
} from './queue-attributes.js';
import { QUEUE_KIND } from './queue-registry.js';
import type { QueueRecord } from './queue-registry.js';
import { checkDeadLetterQueue } from './redrive-policy.js';
import { checkTags, tagMap } from './queue-tags.js';

const NAME_CHARS_MAX = 80;
const NAME = /^[A-Za-z0-9_-]+$/;

/** CreateQueue: registry entry and channel appear together; the same again gives the same URL. */
export const createQueue = operation({
  name: 'CreateQueue',
  input: structure({
    QueueName: scalar,
    Attributes: flatMap('Attribute'),
    tags: tagMap,
  }),
  output: structure({ QueueUrl: scalar }),
  async run(call) {
    const { services, input } = call;
    const given = textMapOf(input, 'Attributes');
    const name = readName(optionalText(input, 'QueueName'), given);
    const fifo = name.endsWith(FIFO_SUFFIX);
    const attributes = checkAttributes(given, fifo);
    const tags = textMapOf(input, 'tags');
    checkTags(name, tags);
    const answer = { QueueUrl: queueUrl(call.origin, services.config, name) };
    if (isThere(call, name, attributes)) return answer;
    requireRested(services, name);
    const policy = attributes.get('RedrivePolicy');
    if (policy !== undefined && policy !== '') {
      checkDeadLetterQueue(policy, { arn: queueArn(services.config, name), fifo }, (dlq) =>
        services.queues.find(dlq),
      );
    }
    try {
      await services.broker.change(changesFor(call, name, { attributes, tags }));
    } catch (error) {
      // Somebody made it at the same moment: then it is judged like any queue that is there.
      const { kind } = BrokerError.from(error);
      const raced = kind === 'precondition' || kind === 'already-exists';
      if (!raced || !isThere(call, name, attributes)) throw error;
    }
    return answer;
  },
});

/** Whether the queue exists with all the given values. Throws QueueNameExists when one differs. */
function isThere(call: Call, name: string, attributes: ReadonlyMap<string, string>): boolean {
  const queue = call.services.queues.find(name);
  if (queue === undefined) return false;
  for (const [attribute, value] of attributes) {
    if ((effectiveAttribute(queue.record.attributes, attribute, queue.fifo) ?? '') !== value) {
      throw new AwsFault(
        SQS_FAULTS.queueNameExists,
        `A queue already exists with the same name and a different value for attribute ${attribute}`,
      );
    }
  }
  return true;
}

function changesFor(
  call: Call,
  name: string,
  given: { readonly attributes: ReadonlyMap<string, string>; readonly tags: ReadonlyMap<string, string> },
): readonly Change[] {
  const { broker, clock } = call.services;
  const channel = queueChannel(name);
  const now = Math.floor(clock.now() / 1000);
  const attributes = mergeAttributes({}, given.attributes);
  const record: QueueRecord = {
    createdAt: now,
    modifiedAt: now,
    attributes,
    tags: Object.fromEntries(given.tags),
  };
  const settings: Partial<QueueSettings> = settingsOf(attributes, name.endsWith(FIFO_SUFFIX));
  const changes: Change[] = [{ do: 'put', kind: QUEUE_KIND, key: name, value: record, expected: 0 }];
  if (broker.queueStats(channel) === undefined) {
    changes.push({ do: 'create-queue', channel, settings, ifMissing: true });
  } else {
    // A native channel of this name becomes an SQS queue. Behind an alias is another protocol's queue: it keeps its ways.
    const own = broker.resolve(channel) === channel;
    changes.push({ do: 'update-queue', channel, settings: own ? settings : settingsBehindAlias(attributes) });
  }
  return changes;
}

const LEGAL_NAME = 'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length';
const LEGAL_FIFO_NAME =
  'The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo ' +
  'suffix and be 1 to 80 in length.';

/** A name ends in `.fifo` exactly when the attribute FifoQueue is true. */
function readName(name: string | undefined, given: ReadonlyMap<string, string>): string {
  if (name === undefined || name === '') throw missingParameter('QueueName');
  const fifo = given.get('FifoQueue')?.toLowerCase() === 'true';
  const stem = fifo && name.endsWith(FIFO_SUFFIX) ? name.slice(0, -FIFO_SUFFIX.length) : name;
  if (name.length > NAME_CHARS_MAX || !NAME.test(stem) || (fifo && stem === name)) {
    throw invalidParameterValue(fifo ? LEGAL_FIFO_NAME : LEGAL_NAME);
  }
  return name;
}
