import { queueNameOfArn } from '../names.js';
import { compileFilter } from './filter-policy.js';
import type { FilterPolicy } from './filter-policy.js';
import { jsonMap } from './topic-policy.js';

/** What the registry keeps of a subscription, under `{topic}:{id}`. */
export interface SubscriptionRecord {
  readonly topic: string;
  readonly protocol: string;
  /** ARN of the queue, or the URL that deliveries are posted to. */
  readonly endpoint: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly attributes: Readonly<Record<string, string>>;
  /** Set while nobody has confirmed it. */
  readonly pendingToken?: string | undefined;
  /** The confirmation was signed. Absent: the subscription needed none. */
  readonly confirmedSigned?: boolean | undefined;
  /** Only signed requests may end it. */
  readonly authenticateOnUnsubscribe?: boolean | undefined;
  /** Scheme, host and port by which its subscriber reached this endpoint: what links in its deliveries begin with. */
  readonly origin?: string | undefined;
}

/** A subscription with what deliveries need read out of its attributes. */
export interface Subscription {
  /** `{topic}:{id}`: the end of its ARN. */
  readonly key: string;
  readonly record: SubscriptionRecord;
  readonly version: number;
  readonly raw: boolean;
  /** Nothing is delivered before it is confirmed. */
  readonly confirmed: boolean;
  /** Of the queue that it delivers to; undefined for http and https. */
  readonly queueName: string | undefined;
  /** Undefined: it gets everything. */
  readonly filter: FilterPolicy | undefined;
  /** The queue that gets what cannot be delivered. */
  readonly deadLetterQueue: string | undefined;
}

export function isWebhook(protocol: string): boolean {
  return protocol === 'http' || protocol === 'https';
}

/** Reads a record out; its filter is compiled here, once. */
export function readSubscription(key: string, record: SubscriptionRecord, version: number): Subscription {
  const { attributes } = record;
  const policy = attributes['FilterPolicy'];
  return {
    key,
    record,
    version,
    raw: attributes['RawMessageDelivery'] === 'true',
    confirmed: record.pendingToken === undefined,
    queueName: isWebhook(record.protocol) ? undefined : queueNameOfArn(record.endpoint),
    filter:
      policy === undefined
        ? undefined
        : compileFilter(policy, attributes['FilterPolicyScope'] === 'MessageBody' ? 'body' : 'attributes'),
    deadLetterQueue: deadLetterQueueOf(attributes['RedrivePolicy']),
  };
}

function deadLetterQueueOf(policy: string | undefined): string | undefined {
  const arn = policy === undefined ? undefined : jsonMap(policy)?.['deadLetterTargetArn'];
  return typeof arn === 'string' ? queueNameOfArn(arn) : undefined;
}
