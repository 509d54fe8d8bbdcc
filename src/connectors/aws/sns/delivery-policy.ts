import { AttributeFault } from './attribute-fault.js';
import { jsonMap } from './topic-policy.js';

/** How failed deliveries to one endpoint are tried again: the parts of AWS's `healthyRetryPolicy`. Delays in seconds. */
export interface RetryPolicy {
  readonly minDelayTarget: number;
  readonly maxDelayTarget: number;
  readonly numRetries: number;
  readonly numNoDelayRetries: number;
  readonly numMinDelayRetries: number;
  readonly numMaxDelayRetries: number;
  readonly backoffFunction: BackoffFunction;
}

type BackoffFunction = 'linear' | 'arithmetic' | 'geometric' | 'exponential';

/** What holds for deliveries of one subscription. */
export interface DeliveryPolicy {
  readonly retry: RetryPolicy;
  /** Deliveries a second; undefined = as fast as they come. */
  readonly perSecondMax: number | undefined;
  readonly contentType: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const DEFAULT_RETRY: RetryPolicy = {
  minDelayTarget: 20,
  maxDelayTarget: 20,
  numRetries: 3,
  numMaxDelayRetries: 0,
  numNoDelayRetries: 0,
  numMinDelayRetries: 0,
  backoffFunction: 'linear',
};
const DEFAULT_CONTENT_TYPE = 'text/plain; charset=UTF-8';

const RETRIES_MAX = 100;
const DELAY_SECONDS_MAX = 3_600;
/** All retries of one delivery together: what lies behind it is not tried. */
const SPAN_SECONDS_MAX = 3_600;
const CONTENT_TYPE_CHARS_MAX = 200;
const BACKOFF: ReadonlySet<unknown> = new Set(['linear', 'arithmetic', 'geometric', 'exponential']);
const CONTENT_TYPE =
  /^(text\/[a-z0-9.+-]+|application\/(json|xml|soap\+xml|octet-stream|x-www-form-urlencoded|[a-z0-9.+-]+\+(json|xml)))(;[\x20-\x7e]*)?$/i;

/** The normal form of a topic's DeliveryPolicy. Throws AttributeFault. */
export function readTopicDeliveryPolicy(text: string): string {
  const policy = jsonMap(text);
  if (policy === undefined) throw new AttributeFault('failed to parse JSON.');
  checkMembers(policy, ['http']);
  const http = objectOf(policy, 'http');
  if (http === undefined) throw new AttributeFault('http must be specified');
  checkMembers(http, [
    'defaultHealthyRetryPolicy',
    'defaultSicklyRetryPolicy',
    'disableSubscriptionOverrides',
    'defaultThrottlePolicy',
    'defaultRequestPolicy',
  ]);
  checkRetry(http, 'defaultHealthyRetryPolicy');
  checkThrottle(http, 'defaultThrottlePolicy');
  checkRequest(http, 'defaultRequestPolicy');
  const overrides = http['disableSubscriptionOverrides'];
  if (overrides !== undefined && overrides !== null && typeof overrides !== 'boolean') {
    throw new AttributeFault('disableSubscriptionOverrides must be a boolean');
  }
  return JSON.stringify({ http: { ...http, disableSubscriptionOverrides: overrides === true } });
}

/** The normal form of a subscription's DeliveryPolicy, as AWS reads it back. Throws AttributeFault. */
export function readSubscriptionDeliveryPolicy(text: string): string {
  const policy = jsonMap(text);
  if (policy === undefined) throw new AttributeFault('failed to parse JSON.');
  checkMembers(policy, [
    'healthyRetryPolicy',
    'sicklyRetryPolicy',
    'throttlePolicy',
    'requestPolicy',
    'guaranteed',
  ]);
  checkRetry(policy, 'healthyRetryPolicy');
  checkThrottle(policy, 'throttlePolicy');
  checkRequest(policy, 'requestPolicy');
  const retry = partOf(policy, 'healthyRetryPolicy');
  return JSON.stringify({
    healthyRetryPolicy: retry === undefined ? null : { ...DEFAULT_RETRY, ...retry },
    sicklyRetryPolicy: null,
    throttlePolicy: policy['throttlePolicy'] ?? null,
    requestPolicy: policy['requestPolicy'] ?? null,
    guaranteed: false,
  });
}

/** What GetTopicAttributes calls EffectiveDeliveryPolicy. */
export function effectiveTopicPolicy(text: string | undefined): string {
  const http = httpOf(text);
  return JSON.stringify({
    http: {
      defaultHealthyRetryPolicy: { ...DEFAULT_RETRY, ...(partOf(http, 'defaultHealthyRetryPolicy') ?? {}) },
      disableSubscriptionOverrides: http?.['disableSubscriptionOverrides'] === true,
      ...(partOf(http, 'defaultThrottlePolicy') !== undefined && {
        defaultThrottlePolicy: http?.['defaultThrottlePolicy'],
      }),
      defaultRequestPolicy: partOf(http, 'defaultRequestPolicy') ?? {
        headerContentType: DEFAULT_CONTENT_TYPE,
      },
    },
  });
}

/** What GetSubscriptionAttributes calls EffectiveDeliveryPolicy. */
export function effectiveSubscriptionPolicy(
  topic: string | undefined,
  subscription: string | undefined,
): string {
  const { retry, perSecondMax, contentType } = deliveryPolicy(topic, subscription);
  return JSON.stringify({
    healthyRetryPolicy: retry,
    sicklyRetryPolicy: null,
    throttlePolicy: perSecondMax === undefined ? null : { maxReceivesPerSecond: perSecondMax },
    requestPolicy: { headerContentType: contentType ?? DEFAULT_CONTENT_TYPE },
    guaranteed: false,
  });
}

/** The policy that holds for a subscription: its own parts before the topic's, unless the topic forbids that. */
export function deliveryPolicy(topic: string | undefined, subscription: string | undefined): DeliveryPolicy {
  const http = httpOf(topic);
  const own =
    subscription === undefined || http?.['disableSubscriptionOverrides'] === true
      ? undefined
      : jsonMap(subscription);
  const retry = partOf(own, 'healthyRetryPolicy') ?? partOf(http, 'defaultHealthyRetryPolicy');
  const throttle = partOf(own, 'throttlePolicy') ?? partOf(http, 'defaultThrottlePolicy');
  const request = partOf(own, 'requestPolicy') ?? partOf(http, 'defaultRequestPolicy');
  const perSecondMax = throttle?.['maxReceivesPerSecond'];
  const contentType = request?.['headerContentType'];
  return {
    retry: { ...DEFAULT_RETRY, ...(retry as Partial<RetryPolicy> | undefined) },
    perSecondMax: typeof perSecondMax === 'number' ? perSecondMax : undefined,
    contentType: typeof contentType === 'string' ? contentType : undefined,
  };
}

/**
 * The wait before retry number `retry` (from 1), in seconds; undefined when there is no such retry. Phases follow each
 * other as AWS orders them: without delay, at the smallest delay, growing, at the largest delay.
 */
export function retryDelay(policy: RetryPolicy, retry: number): number | undefined {
  if (retry > policy.numRetries) return undefined;
  let span = 0;
  let delay = 0;
  for (let i = 1; i <= retry; i++) {
    delay = plannedDelay(policy, i);
    span += delay;
  }
  return span > SPAN_SECONDS_MAX ? undefined : delay;
}

function plannedDelay(policy: RetryPolicy, retry: number): number {
  const { numNoDelayRetries, numMinDelayRetries, numMaxDelayRetries, numRetries } = policy;
  const { minDelayTarget: min, maxDelayTarget: max } = policy;
  const growingFrom = numNoDelayRetries + numMinDelayRetries;
  const growing = numRetries - growingFrom - numMaxDelayRetries;
  if (retry <= numNoDelayRetries) return 0;
  if (retry <= growingFrom) return min;
  if (retry > growingFrom + growing) return max;
  const step = retry - growingFrom;
  if (growing === 1) return min;
  switch (policy.backoffFunction) {
    case 'linear':
      return min + ((max - min) * (step - 1)) / (growing - 1);
    case 'arithmetic':
      // Each step is longer than the one before by the same amount.
      return min + ((max - min) * (step * (step - 1))) / (growing * (growing - 1));
    case 'geometric':
      return min * (max / min) ** ((step - 1) / (growing - 1));
    case 'exponential':
      return Math.min(max, min * 2 ** (step - 1));
  }
}

function checkRetry(holder: Json, name: string): void {
  const given = objectOf(holder, name);
  if (given === undefined) return;
  checkMembers(given, Object.keys(DEFAULT_RETRY));
  const policy: Json = { ...DEFAULT_RETRY, ...given };
  const integer = (field: string, low: number, high: number): number => {
    const value = policy[field];
    if (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high) return value;
    throw new AttributeFault(`${name}.${field} must be a whole number from ${low} to ${high}`);
  };
  const min = integer('minDelayTarget', 1, DELAY_SECONDS_MAX);
  const max = integer('maxDelayTarget', 1, DELAY_SECONDS_MAX);
  const retries = integer('numRetries', 0, RETRIES_MAX);
  const phases =
    integer('numNoDelayRetries', 0, RETRIES_MAX) +
    integer('numMinDelayRetries', 0, RETRIES_MAX) +
    integer('numMaxDelayRetries', 0, RETRIES_MAX);
  if (min > max) {
    throw new AttributeFault(`${name}.minDelayTarget must be less than or equal to maxDelayTarget`);
  }
  if (phases > retries) {
    throw new AttributeFault(
      `${name}.numRetries must be greater than or equal to the sum of numNoDelayRetries, numMinDelayRetries and ` +
        'numMaxDelayRetries',
    );
  }
  if (!BACKOFF.has(policy['backoffFunction'])) {
    throw new AttributeFault(`${name}.backoffFunction must be linear, arithmetic, geometric or exponential`);
  }
}

function checkThrottle(holder: Json, name: string): void {
  const given = objectOf(holder, name);
  if (given === undefined) return;
  checkMembers(given, ['maxReceivesPerSecond']);
  const value = given['maxReceivesPerSecond'];
  if (value === undefined || value === null) return;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return;
  throw new AttributeFault(`${name}.maxReceivesPerSecond must be a whole number and at least 1`);
}

function checkRequest(holder: Json, name: string): void {
  const given = objectOf(holder, name);
  if (given === undefined) return;
  checkMembers(given, ['headerContentType']);
  const value = given['headerContentType'];
  if (value === undefined || value === null) return;
  if (typeof value === 'string' && value.length <= CONTENT_TYPE_CHARS_MAX && CONTENT_TYPE.test(value)) return;
  throw new AttributeFault(`${name}.headerContentType is not a supported content type`);
}

function checkMembers(given: Json, known: readonly string[]): void {
  const extra = Object.keys(given).find((key) => !known.includes(key));
  if (extra !== undefined) throw new AttributeFault(`Unexpected JSON member: ${extra.slice(0, 100)}`);
}

/** A member that must be an object, or absent. */
function objectOf(holder: Json, name: string): Json | undefined {
  const value = holder[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'object' && !Array.isArray(value)) return value as Json;
  throw new AttributeFault(`${name} must be a JSON map`);
}

/** A member of a checked policy. */
function partOf(holder: Json | undefined, name: string): Json | undefined {
  const value = holder?.[name];
  return typeof value === 'object' && value !== null ? (value as Json) : undefined;
}

function httpOf(text: string | undefined): Json | undefined {
  return text === undefined ? undefined : partOf(jsonMap(text), 'http');
}
