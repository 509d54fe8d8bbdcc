import { BrokerError } from '../../../core/errors.js';
import { SNS_FAULTS } from '../errors.js';
import { optionalText } from '../input.js';
import type { Call } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { archiveChanges } from './archive.js';
import { resourceOf } from './arn.js';
import { TOPIC_KIND } from './topic-registry.js';
import type { Topic, TopicRecord } from './topic-registry.js';

/** Tries against concurrent writers before the client is told to try itself. */
const ATTEMPTS_MAX = 5;

/** Writes a changed record of the topic that `find` gives, compare-and-set, and makes its archive what that says. */
export async function updateTopic(
  call: Call,
  find: (call: Call) => Topic,
  change: (topic: Topic) => TopicRecord,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const topic = find(call);
    const value = change(topic);
    try {
      await call.services.broker.change([
        { do: 'put', kind: TOPIC_KIND, key: topic.name, value, expected: topic.version },
        ...archiveChanges(topic.name, topic.record.attributes, value.attributes),
      ]);
      return;
    } catch (error) {
      if (BrokerError.from(error).kind !== 'precondition' || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}

/** The topic of a tag operation, which says ResourceNotFound where others say NotFound. */
export function taggedTopic(call: Call): Topic {
  const name = resourceOf(optionalText(call.input, 'ResourceArn'), 'ResourceArn');
  const topic = call.services.topics.find(name);
  if (topic === undefined) throw new AwsFault(SNS_FAULTS.resourceNotFound, 'Resource does not exist');
  return topic;
}
