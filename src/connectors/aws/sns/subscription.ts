import { queueNameOfArn } from '../names.js';
import { compileFilter } from './filter-policy.js';
import type { FilterPolicy } from './filter-policy.js';
import { isUnderWay, replaySpan } from './replay-policy.js';
import type { Replay } from './replay-policy.js';
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
  /** Of its ReplayPolicy. */
  readonly replay?: Replay | undefined;
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
  /** It gets what is published: neither a replay nor the end of one keeps it from that. */
  readonly live: boolean;
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
    live: isLive(record),
    queueName: isWebhook(record.protocol) ? undefined : queueNameOfArn(record.endpoint),
    filter:
      policy === undefined
        ? undefined
        : compileFilter(policy, attributes['FilterPolicyScope'] === 'MessageBody' ? 'body' : 'attributes'),
    deadLetterQueue: deadLetterQueueOf(attributes['RedrivePolicy']),
  };
}

/** A replay serves the subscription until it is done, and with an ending point there is nothing after it. */
function isLive({ replay, attributes }: SubscriptionRecord): boolean {
  const policy = attributes['ReplayPolicy'];
  if (replay === undefined || policy === undefined || replay.status === 'Failed') return true;
  return !isUnderWay(replay) && replaySpan(policy).until === undefined;
}

function deadLetterQueueOf(policy: string | undefined): string | undefined {
  const arn = policy === undefined ? undefined : jsonMap(policy)?.['deadLetterTargetArn'];
  return typeof arn === 'string' ? queueNameOfArn(arn) : undefined;
}
