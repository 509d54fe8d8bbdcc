import type { Change } from '../../../core/registry/types.js';
import { SNS_FAULTS } from '../errors.js';
import { optionalText } from '../input.js';
import { deliveryChannel, ledgerChannel } from '../names.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { scalar, structure } from '../wire/shape.js';
import { resourceOf } from './arn.js';
import { replayChanges } from './replay-progress.js';
import { SUBSCRIPTION_KIND, TOPIC_KIND } from './topic-registry.js';

/**
 * DeleteTopic: its subscriptions and what waits for them go with it, in one step. A topic that is not there is fine; one that
 * archives has to give that up first.
 */
export const deleteTopic = operation({
  name: 'DeleteTopic',
  input: structure({ TopicArn: scalar }),
  output: undefined,
  async run(call) {
    const { broker, topics } = call.services;
    const name = resourceOf(optionalText(call.input, 'TopicArn'), 'TopicArn');
    const topic = topics.find(name);
    if (topic === undefined) return;
    if (topic.archives) {
      throw new AwsFault(
        SNS_FAULTS.invalidState,
        'Invalid state: Cannot delete a topic with an ArchivePolicy',
      );
    }
    const changes: Change[] = [{ do: 'remove', kind: TOPIC_KIND, key: name }];
    if (topic.fifo) changes.push({ do: 'delete-queue', channel: ledgerChannel(name) });
    for (const { key, queueName, record } of topics.subscriptionsOf(name)) {
      if (record.replay !== undefined) changes.push(...replayChanges(key, false));
      changes.push({ do: 'remove', kind: SUBSCRIPTION_KIND, key });
      if (queueName === undefined) changes.push({ do: 'delete-queue', channel: deliveryChannel(key) });
    }
    await broker.change(changes);
  },
});
