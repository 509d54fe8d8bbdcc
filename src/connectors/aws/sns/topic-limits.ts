import { SNS_FAULTS } from '../errors.js';
import { AwsFault } from '../wire/fault.js';
import type { Topic, TopicRegistry } from './topic-registry.js';

/** As many as AWS allows an account. */
const STANDARD_TOPICS_MAX = 100_000;
const FIFO_TOPICS_MAX = 1_000;
/** As many as AWS allows a topic; those of a FIFO topic also bound the entry of a publish. */
const STANDARD_SUBSCRIPTIONS_MAX = 12_500_000;
const FIFO_SUBSCRIPTIONS_MAX = 100;

/** Whether there may be one more topic. Throws TopicLimitExceeded. */
export function checkTopicCount(topics: Pick<TopicRegistry, 'topicCount'>, fifo: boolean): void {
  const max = fifo ? FIFO_TOPICS_MAX : STANDARD_TOPICS_MAX;
  if (topics.topicCount(fifo) < max) return;
  throw new AwsFault(
    SNS_FAULTS.topicLimitExceeded,
    `At most ${max} ${fifo ? 'FIFO' : 'standard'} topics are allowed.`,
  );
}

/** Whether the topic may have one more subscription. Throws SubscriptionLimitExceeded. */
export function checkSubscriptionCount(
  topics: Pick<TopicRegistry, 'subscriptionCount'>,
  { name, fifo }: Pick<Topic, 'name' | 'fifo'>,
): void {
  const max = fifo ? FIFO_SUBSCRIPTIONS_MAX : STANDARD_SUBSCRIPTIONS_MAX;
  if (topics.subscriptionCount(name) < max) return;
  throw new AwsFault(
    SNS_FAULTS.subscriptionLimitExceeded,
    `A ${fifo ? 'FIFO' : 'standard'} topic has at most ${max} subscriptions.`,
  );
}
