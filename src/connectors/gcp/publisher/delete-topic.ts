import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { Change } from '../../../core/registry/types.js';
import { forgetPolicy } from '../iam/policies.js';
import { SUBSCRIPTION_KIND, TOPIC_KIND, withResource, type SubscriptionInfo } from '../registry/records.js';
import { queueSettings } from '../registry/subscription-rules.js';
import { DELETED_TOPIC, parseResourceName, subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  DeadLetterPolicySchema,
  type DeadLetterPolicy,
  type DeleteTopicRequest,
  type Subscription,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/**
 * Deletes a topic. Its subscriptions stay, with their backlog, and belong to no topic any more, not even to a new one of
 * the same name; those that sent it their dead letters keep them. Its log stays for its readers until its retention empties it.
 */
export function deleteTopic({ catalog }: GcpServices): Operation<DeleteTopicRequest, Empty> {
  const { broker } = catalog;
  return async (request) => {
    const { id, version } = catalog.requireTopic(request.topic);
    const changes: Change[] = [{ do: 'remove', kind: TOPIC_KIND, key: id, expected: version }];
    for (const info of catalog.subscriptions()) {
      const isOrphan = info.record.topicId === id;
      const losesLetters = deadLetterTopicId(info.resource) === id;
      if (isOrphan || losesLetters) changes.push(...changesOf(info, { isOrphan, losesLetters }));
    }
    changes.push(...forgetPolicy(broker, 'topics', id));
    await broker.change(changes);
    return create(EmptySchema);

    function changesOf(
      info: SubscriptionInfo,
      { isOrphan, losesLetters }: { isOrphan: boolean; losesLetters: boolean },
    ): Change[] {
      const { resource, record } = info;
      const topic = isOrphan ? DELETED_TOPIC : resource.topic;
      const after: Subscription = losesLetters
        ? { ...resource, topic, deadLetterPolicy: lettersToNowhere(resource) }
        : { ...resource, topic };
      const value = withResource(isOrphan ? { ...record, topicId: '' } : record, after);
      const puts: Change[] = [
        { do: 'put', kind: SUBSCRIPTION_KIND, key: info.id, value, expected: info.version },
      ];
      const channel = subscriptionChannel(info.id);
      // The queue behind an alias is another protocol's.
      if (!losesLetters || broker.resolve(channel) !== channel || broker.queueStats(channel) === undefined)
        return puts;
      const { deadLetter } = queueSettings(info.id, after);
      return [...puts, { do: 'update-queue', channel, settings: { deadLetter } }];
    }
  };
}

function deadLetterTopicId({ deadLetterPolicy }: Subscription): string | undefined {
  const topic = deadLetterPolicy?.deadLetterTopic;
  return topic === undefined || topic === DELETED_TOPIC ? undefined : parseResourceName(topic, 'topics').id;
}

function lettersToNowhere({ deadLetterPolicy }: Subscription): DeadLetterPolicy {
  const maxDeliveryAttempts = deadLetterPolicy?.maxDeliveryAttempts ?? 0;
  return create(DeadLetterPolicySchema, { deadLetterTopic: DELETED_TOPIC, maxDeliveryAttempts });
}
