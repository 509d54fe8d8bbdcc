import { SNS_FAULTS } from '../errors.js';
import { AwsFault } from '../wire/fault.js';
import type { TopicRegistry } from './topic-registry.js';

const TOPIC_POLICIES_MAX = 200;
const ACCOUNT_POLICIES_MAX = 10_000;

/** Whether one more subscription of the topic may have a filter policy. Throws FilterPolicyLimitExceeded. */
export function checkFilterCount(topics: TopicRegistry, topic: string): void {
  let count = 0;
  for (const { filter } of topics.subscriptionsOf(topic)) if (filter !== undefined) count++;
  if (count >= TOPIC_POLICIES_MAX || topics.filterCount >= ACCOUNT_POLICIES_MAX) {
    throw new AwsFault(
      SNS_FAULTS.filterPolicyLimitExceeded,
      `At most ${TOPIC_POLICIES_MAX} filter policies are allowed for a topic and ${ACCOUNT_POLICIES_MAX} in all.`,
    );
  }
}
