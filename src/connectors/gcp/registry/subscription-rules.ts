import { create } from '@bufbuild/protobuf';
import { DurationSchema, type Duration } from '@bufbuild/protobuf/wkt';
import type { QueueSettings } from '../../../core/queue/types.js';
import { GCP_LIMITS } from '../config.js';
import { checkDuration, durationMs, RETENTION_SECONDS_MAX, RETENTION_SECONDS_MIN } from '../durations.js';
import { badAckDeadline, invalidArgument } from '../errors.js';
import { compileFilter } from '../filter.js';
import { checkLabels } from '../labels.js';
import { HASHED_KEY_MARK, KEY_MARK } from '../resource-names.js';
import {
  DeadLetterPolicySchema,
  ExpirationPolicySchema,
  PushConfigSchema,
  RetryPolicySchema,
  Subscription_State,
  type DeadLetterPolicy,
  type RetryPolicy,
  type Subscription,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { retentionMs } from './topic-rules.js';

const DAY_SECONDS = 24 * 3600;
const RETENTION_SECONDS_DEFAULT = 7 * DAY_SECONDS;
const EXPIRATION_SECONDS_DEFAULT = 31 * DAY_SECONDS;
const BACKOFF_SECONDS_MIN = 10;
const BACKOFF_SECONDS_MAX = 600;
const ATTEMPTS_DEFAULT = 5;
const ATTEMPTS_MIN = 5;
const ATTEMPTS_MAX = 100;

/** Scheme of the routes of this connector's dead letters; what follows it is the subscription's id. */
export const DEAD_LETTER_SCHEME = 'gcp';

/** Checks a subscription that is about to be stored; throws `invalid-argument`. */
export function checkSubscription(subscription: Subscription): void {
  checkDestination(subscription);
  checkLabels(subscription.labels);
  const { ackDeadlineSeconds: seconds } = subscription;
  const { ackDeadlineSecondsMin, ackDeadlineSecondsMax } = GCP_LIMITS;
  if (seconds !== 0 && (seconds < ackDeadlineSecondsMin || seconds > ackDeadlineSecondsMax)) {
    throw badAckDeadline(seconds, ackDeadlineSecondsMin);
  }
  checkLives(subscription);
  checkRetryPolicy(subscription.retryPolicy);
  checkDeadLetterPolicy(subscription.deadLetterPolicy);
  compileFilter(subscription.filter);
}

/** What is asked for must be had: nothing is silently left out. */
function checkDestination(subscription: Subscription): void {
  for (const [name, value] of [
    ['bigquery_config', subscription.bigqueryConfig],
    ['cloud_storage_config', subscription.cloudStorageConfig],
    ['bigtable_config', subscription.bigtableConfig],
  ] as const) {
    if (value !== undefined) throw invalidArgument(`Export to other products (${name}) is not supported.`);
  }
  if (isPush(subscription) && subscription.enableExactlyOnceDelivery) {
    throw invalidArgument('Exactly-once delivery is not available for push subscriptions.');
  }
}

function checkLives(subscription: Subscription): void {
  const { messageRetentionDuration, expirationPolicy } = subscription;
  checkDuration(messageRetentionDuration, {
    name: 'message_retention_duration',
    minSeconds: RETENTION_SECONDS_MIN,
    maxSeconds: RETENTION_SECONDS_MAX,
  });
  const ttl = expirationPolicy?.ttl;
  checkDuration(ttl, { name: 'expiration_policy.ttl', minSeconds: DAY_SECONDS, maxSeconds: Infinity });
  if (ttl !== undefined && durationMs(ttl) < retentionMs(subscription)) {
    throw invalidArgument(
      'The expiration_policy.ttl must not be shorter than the message_retention_duration.',
    );
  }
}

function checkRetryPolicy(policy: RetryPolicy | undefined): void {
  if (policy === undefined) return;
  for (const [name, duration] of [
    ['minimum_backoff', policy.minimumBackoff],
    ['maximum_backoff', policy.maximumBackoff],
  ] as const) {
    checkDuration(duration, { name: `retry_policy.${name}`, minSeconds: 0, maxSeconds: BACKOFF_SECONDS_MAX });
  }
  const { minMs, maxMs } = backoffOf(policy);
  if (minMs > maxMs) {
    throw invalidArgument('The retry_policy.minimum_backoff must not be longer than the maximum_backoff.');
  }
}

function checkDeadLetterPolicy(policy: DeadLetterPolicy | undefined): void {
  if (policy === undefined) return;
  if (policy.deadLetterTopic === '')
    throw invalidArgument('A dead_letter_policy must name a dead_letter_topic.');
  const { maxDeliveryAttempts: attempts } = policy;
  if (attempts === 0 || (attempts >= ATTEMPTS_MIN && attempts <= ATTEMPTS_MAX)) return;
  const [fault, edge, bound] =
    attempts < ATTEMPTS_MIN ? ['small', 'minimum', ATTEMPTS_MIN] : ['large', 'maximum', ATTEMPTS_MAX];
  throw invalidArgument(
    `The value for max_delivery_attempts is too ${fault}. You passed ${attempts} in the request, but the ${edge} value ` +
      `is ${bound}.`,
  );
}

/** A checked subscription with everything filled in that the server decides. */
export function withDefaults(subscription: Subscription, ackDeadlineSeconds: number): Subscription {
  const ttl = subscription.expirationPolicy?.ttl;
  const retention =
    ttl === undefined ? RETENTION_SECONDS_DEFAULT : Math.min(Number(ttl.seconds), RETENTION_SECONDS_DEFAULT);
  const { messageRetentionDuration, expirationPolicy, retryPolicy, deadLetterPolicy, ...rest } = subscription;
  return {
    ...rest,
    pushConfig: subscription.pushConfig ?? create(PushConfigSchema),
    ackDeadlineSeconds: subscription.ackDeadlineSeconds || ackDeadlineSeconds,
    messageRetentionDuration: messageRetentionDuration ?? seconds(retention),
    expirationPolicy:
      expirationPolicy ?? create(ExpirationPolicySchema, { ttl: seconds(EXPIRATION_SECONDS_DEFAULT) }),
    ...(retryPolicy !== undefined && { retryPolicy: filledRetryPolicy(retryPolicy) }),
    ...(deadLetterPolicy !== undefined && { deadLetterPolicy: filledDeadLetterPolicy(deadLetterPolicy) }),
    state: Subscription_State.ACTIVE,
  };
}

function filledRetryPolicy(policy: RetryPolicy): RetryPolicy {
  return create(RetryPolicySchema, {
    minimumBackoff: policy.minimumBackoff ?? seconds(BACKOFF_SECONDS_MIN),
    maximumBackoff: policy.maximumBackoff ?? seconds(BACKOFF_SECONDS_MAX),
  });
}

function filledDeadLetterPolicy(policy: DeadLetterPolicy): DeadLetterPolicy {
  return create(DeadLetterPolicySchema, {
    deadLetterTopic: policy.deadLetterTopic,
    maxDeliveryAttempts: policy.maxDeliveryAttempts || ATTEMPTS_DEFAULT,
  });
}

/** The queue a subscription needs. */
export function queueSettings(id: string, subscription: Subscription): Partial<QueueSettings> {
  const { retryPolicy, deadLetterPolicy, enableMessageOrdering } = subscription;
  const hasLetters =
    deadLetterPolicy !== undefined && deadLetterPolicy.deadLetterTopic.startsWith('projects/');
  return {
    retentionMs: retentionMs(subscription),
    expiredLeaseTo: 'origin',
    subChannelMarks: enableMessageOrdering ? [KEY_MARK, HASHED_KEY_MARK] : [],
    backoff: retryPolicy === undefined ? undefined : backoffOf(retryPolicy),
    deadLetter: hasLetters
      ? {
          target: { route: `${DEAD_LETTER_SCHEME}:${id}` },
          maxReceiveCount: deadLetterPolicy.maxDeliveryAttempts,
          reasons: ['max-receives'],
        }
      : undefined,
  };
}

export function isPush({ pushConfig }: Subscription): boolean {
  return pushConfig !== undefined && pushConfig.pushEndpoint !== '';
}

function backoffOf(policy: RetryPolicy): { readonly minMs: number; readonly maxMs: number } {
  const { minimumBackoff, maximumBackoff } = policy;
  return {
    minMs: minimumBackoff === undefined ? BACKOFF_SECONDS_MIN * 1000 : durationMs(minimumBackoff),
    maxMs: maximumBackoff === undefined ? BACKOFF_SECONDS_MAX * 1000 : durationMs(maximumBackoff),
  };
}

function seconds(value: number): Duration {
  return create(DurationSchema, { seconds: BigInt(value) });
}
