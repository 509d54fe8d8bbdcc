import { create } from '@bufbuild/protobuf';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import type { QueueSettings } from '../../../core/queue/types.js';
import { GCP_LIMITS } from '../config.js';
import { checkDuration, durationMs, RETENTION_SECONDS_MAX, RETENTION_SECONDS_MIN } from '../durations.js';
import { badAckDeadline, creationFault, resourceExists, unsupportedField } from '../errors.js';
import { runChecks } from '../extensions.js';
import { compileFilter } from '../filter.js';
import { SUBSCRIPTION_KIND, subscriptionRecord } from '../registry/records.js';
import {
  checkNewSubscriptionId,
  HASHED_KEY_MARK,
  KEY_MARK,
  parseResourceName,
  resourceName,
  subscriptionChannel,
} from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  ExpirationPolicySchema,
  PushConfigSchema,
  Subscription_State,
  type Subscription,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

const DAY_SECONDS = 24 * 3600;
const RETENTION_SECONDS_DEFAULT = 7 * DAY_SECONDS;
const EXPIRATION_SECONDS_DEFAULT = 31 * DAY_SECONDS;

/**
 * Creates a subscription and its queue. A queue of that name that exists already (by an alias, another protocol's) is used
 * as it is. Only what is published from now on reaches it. Without a name the server makes one.
 */
export function createSubscription(services: GcpServices): Operation<Subscription, Subscription> {
  const { broker, catalog, clock, config, extensions, ids } = services;
  return async (request) => {
    const name = request.name === '' ? madeName(request.topic, ids.uuid()) : request.name;
    const { id } = parseResourceName(name, 'subscriptions');
    checkNewSubscriptionId(name, id);
    checkSubscription(request);
    const topic = catalog.requireTopic(request.topic);
    if (catalog.subscription(id) !== undefined) throw resourceExists(id);
    const subscription = withDefaults({ ...request, name }, config.defaultAckDeadlineSeconds);
    await runChecks(extensions.subscriptionChecks, subscription, undefined);
    const value = subscriptionRecord(subscription, topic.id, clock.now());
    const created = broker.change([
      {
        do: 'create-queue',
        channel: subscriptionChannel(id),
        settings: queueSettings(subscription),
        ifMissing: true,
      },
      { do: 'put', kind: SUBSCRIPTION_KIND, key: id, value, expected: 0 },
    ]);
    await created.catch((caught: unknown) => {
      throw creationFault(caught, id);
    });
    return subscription;
  };
}

/** The queue a subscription needs. */
function queueSettings(subscription: Subscription): Partial<QueueSettings> {
  const { messageRetentionDuration: retention, enableMessageOrdering } = subscription;
  return {
    retentionMs: retention === undefined ? 0 : durationMs(retention),
    expiredLeaseTo: 'origin',
    subChannelMarks: enableMessageOrdering ? [KEY_MARK, HASHED_KEY_MARK] : [],
  };
}

function withDefaults(subscription: Subscription, ackDeadlineSeconds: number): Subscription {
  return {
    ...subscription,
    pushConfig: subscription.pushConfig ?? create(PushConfigSchema),
    ackDeadlineSeconds: subscription.ackDeadlineSeconds || ackDeadlineSeconds,
    messageRetentionDuration:
      subscription.messageRetentionDuration ??
      create(DurationSchema, { seconds: BigInt(RETENTION_SECONDS_DEFAULT) }),
    expirationPolicy:
      subscription.expirationPolicy ??
      create(ExpirationPolicySchema, { ttl: { seconds: BigInt(EXPIRATION_SECONDS_DEFAULT) } }),
    state: Subscription_State.ACTIVE,
    detached: false,
  };
}

function checkSubscription(subscription: Subscription): void {
  checkSupported(subscription);
  const { ackDeadlineSeconds: seconds } = subscription;
  const { ackDeadlineSecondsMin, ackDeadlineSecondsMax } = GCP_LIMITS;
  if (seconds !== 0 && (seconds < ackDeadlineSecondsMin || seconds > ackDeadlineSecondsMax)) {
    throw badAckDeadline(seconds, ackDeadlineSecondsMin);
  }
  checkDuration(subscription.messageRetentionDuration, {
    name: 'message_retention_duration',
    minSeconds: RETENTION_SECONDS_MIN,
    maxSeconds: RETENTION_SECONDS_MAX,
  });
  checkDuration(subscription.expirationPolicy?.ttl, {
    name: 'expiration_policy.ttl',
    minSeconds: DAY_SECONDS,
    maxSeconds: Infinity,
  });
  compileFilter(subscription.filter);
}

/** What is asked for must be had: nothing is silently left out. */
function checkSupported(subscription: Subscription): void {
  if (subscription.bigqueryConfig !== undefined) throw unsupportedField('bigquery_config');
  if (subscription.cloudStorageConfig !== undefined) throw unsupportedField('cloud_storage_config');
  if (subscription.bigtableConfig !== undefined) throw unsupportedField('bigtable_config');
  if (subscription.deadLetterPolicy !== undefined) throw unsupportedField('dead_letter_policy');
  if (subscription.retryPolicy !== undefined) throw unsupportedField('retry_policy');
  if (subscription.enableExactlyOnceDelivery) throw unsupportedField('enable_exactly_once_delivery');
}

function madeName(topic: string, uuid: string): string {
  const { project, id } = parseResourceName(topic, 'topics');
  return resourceName(project, 'subscriptions', `${id.slice(0, 200)}-${uuid}`);
}
