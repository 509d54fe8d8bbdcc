import { checkDuration, durationMs, RETENTION_SECONDS_MAX, RETENTION_SECONDS_MIN } from '../durations.js';
import { invalidArgument } from '../errors.js';
import { checkLabels } from '../labels.js';
import type { Subscription, Topic } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** How long the log of a topic keeps what was published, when nobody asks for more: snapshots live that long. */
const LOG_RETENTION_MS = 7 * 24 * 3600 * 1000;

/** Checks a topic that is about to be stored; throws `invalid-argument`. */
export function checkTopic(topic: Topic): void {
  checkLabels(topic.labels);
  if (topic.ingestionDataSourceSettings !== undefined) {
    throw invalidArgument('Ingestion from other products (ingestion_data_source_settings) is not supported.');
  }
  checkDuration(topic.messageRetentionDuration, {
    name: 'message_retention_duration',
    minSeconds: RETENTION_SECONDS_MIN,
    maxSeconds: RETENTION_SECONDS_MAX,
  });
}

/** How long a topic's log must keep its messages: as long as the topic or one of its subscriptions may look back. */
export function logRetentionMs(topic: Topic, subscriptions: Iterable<Subscription>): number {
  let longest = Math.max(LOG_RETENTION_MS, retentionMs(topic));
  for (const subscription of subscriptions) longest = Math.max(longest, retentionMs(subscription));
  return longest;
}

/** The message retention of a topic or subscription; 0 when it has none. */
export function retentionMs(resource: Topic | Subscription): number {
  const { messageRetentionDuration: duration } = resource;
  return duration === undefined ? 0 : durationMs(duration);
}
