import { describe, expect, it } from 'vitest';
import { AttributeFault } from './attribute-fault.js';
import {
  deliveryPolicy,
  effectiveSubscriptionPolicy,
  readSubscriptionDeliveryPolicy,
  readTopicDeliveryPolicy,
  retryDelay,
} from './delivery-policy.js';
import type { RetryPolicy } from './delivery-policy.js';

const DEFAULT: RetryPolicy = {
  minDelayTarget: 20,
  maxDelayTarget: 20,
  numRetries: 3,
  numMaxDelayRetries: 0,
  numNoDelayRetries: 0,
  numMinDelayRetries: 0,
  backoffFunction: 'linear',
};

function delays(policy: Partial<RetryPolicy>): (number | undefined)[] {
  const whole = { ...DEFAULT, ...policy };
  return Array.from({ length: whole.numRetries + 1 }, (_, i) => retryDelay(whole, i + 1));
}

describe('the waits between attempts', () => {
  it('are three of 20 s by default', () => {
    expect(delays({})).toEqual([20, 20, 20, undefined]);
    expect(delays({ numRetries: 0 })).toEqual([undefined]);
  });

  it('go through the phases in order', () => {
    const phases = {
      minDelayTarget: 1,
      maxDelayTarget: 10,
      numRetries: 9,
      numNoDelayRetries: 2,
      numMinDelayRetries: 2,
      numMaxDelayRetries: 2,
    };
    expect(delays(phases)).toEqual([0, 0, 1, 1, 1, 5.5, 10, 10, 10, undefined]);
  });

  it.each<[RetryPolicy['backoffFunction'], number[]]>([
    ['linear', [1, 6, 11, 16]],
    ['arithmetic', [1, 3.5, 8.5, 16]],
    ['geometric', [1, 2.52, 6.35, 16]],
    ['exponential', [1, 2, 4, 8]],
  ])('grow by the %s function', (backoffFunction, expected) => {
    const grown = delays({ minDelayTarget: 1, maxDelayTarget: 16, numRetries: 4, backoffFunction });
    expect(grown.slice(0, 4).map((delay) => Math.round((delay ?? 0) * 100) / 100)).toEqual(expected);
  });

  it('never grow beyond the largest, and end after an hour in all', () => {
    const long = delays({
      minDelayTarget: 1,
      maxDelayTarget: 1000,
      numRetries: 100,
      backoffFunction: 'exponential',
    });
    const made = long.filter((delay) => delay !== undefined);
    expect(Math.max(...made)).toBeLessThanOrEqual(1000);
    expect(made.reduce((sum, delay) => sum + delay, 0)).toBeLessThanOrEqual(3600);
    expect(long.at(-1)).toBeUndefined();
  });
});

describe('a policy', () => {
  it('of a subscription goes before the topic, unless the topic forbids that', () => {
    const topic = (extra: object) =>
      JSON.stringify({ http: { defaultHealthyRetryPolicy: { numRetries: 5 }, ...extra } });
    const own = '{"healthyRetryPolicy":{"numRetries":7},"throttlePolicy":{"maxReceivesPerSecond":3}}';
    expect(deliveryPolicy(topic({}), own)).toMatchObject({ retry: { numRetries: 7 }, perSecondMax: 3 });
    expect(deliveryPolicy(topic({ disableSubscriptionOverrides: true }), own)).toMatchObject({
      retry: { numRetries: 5 },
      perSecondMax: undefined,
    });
    expect(deliveryPolicy(undefined, undefined)).toEqual({
      retry: DEFAULT,
      perSecondMax: undefined,
      contentType: undefined,
    });
    expect(JSON.parse(effectiveSubscriptionPolicy(topic({}), own))).toMatchObject({
      healthyRetryPolicy: { numRetries: 7 },
      sicklyRetryPolicy: null,
      guaranteed: false,
    });
  });

  it('is read back whole', () => {
    const text = readSubscriptionDeliveryPolicy('{"healthyRetryPolicy":{"numRetries":4}}');
    expect(JSON.parse(text)).toEqual({
      healthyRetryPolicy: { ...DEFAULT, numRetries: 4 },
      sicklyRetryPolicy: null,
      throttlePolicy: null,
      requestPolicy: null,
      guaranteed: false,
    });
  });

  it.each([
    ['{', 'failed to parse JSON.'],
    ['{"healthyRetryPolicyy":{}}', 'Unexpected JSON member: healthyRetryPolicyy'],
    ['{"healthyRetryPolicy":5}', 'healthyRetryPolicy must be a JSON map'],
    ['{"healthyRetryPolicy":{"numRetries":101}}', 'numRetries must be a whole number from 0 to 100'],
    ['{"healthyRetryPolicy":{"minDelayTarget":0}}', 'minDelayTarget must be a whole number from 1 to 3600'],
    ['{"healthyRetryPolicy":{"minDelayTarget":21}}', 'less than or equal to maxDelayTarget'],
    ['{"healthyRetryPolicy":{"numNoDelayRetries":4}}', 'greater than or equal to the sum'],
    ['{"healthyRetryPolicy":{"backoffFunction":"x"}}', 'backoffFunction must be'],
    ['{"throttlePolicy":{"maxReceivesPerSecond":0}}', 'at least 1'],
    ['{"requestPolicy":{"headerContentType":"image/png"}}', 'not a supported content type'],
    ['{"requestPolicy":{"headerContentType":"text/plain\\r\\nX: y"}}', 'not a supported content type'],
  ])('is refused: %s', (text, why) => {
    const read = () => readSubscriptionDeliveryPolicy(text);
    expect(read).toThrow(AttributeFault);
    expect(read).toThrow(why);
  });

  it('of a topic stands under http', () => {
    expect(() => readTopicDeliveryPolicy('{}')).toThrow('http must be specified');
    expect(() => readTopicDeliveryPolicy('{"http":{"disableSubscriptionOverrides":"x"}}')).toThrow('boolean');
    const http = { defaultThrottlePolicy: { maxReceivesPerSecond: 1 } };
    const read = JSON.parse(readTopicDeliveryPolicy(JSON.stringify({ http }))) as unknown;
    expect(read).toEqual({ http: { ...http, disableSubscriptionOverrides: false } });
  });
});
