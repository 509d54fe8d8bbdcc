import { describe, expect, it } from 'vitest';
import { AwsFault } from '../wire/fault.js';
import { checkAttributes, effectiveAttributes, mergeAttributes, settingsOf } from './queue-attributes.js';

function code(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof AwsFault) return error.kind.code;
    throw error;
  }
  return 'passed';
}

const check = (attributes: Record<string, string>, fifo = false): Map<string, string> =>
  checkAttributes(new Map(Object.entries(attributes)), fifo);

describe('queue attributes', () => {
  it.each<[string, string, string]>([
    ['VisibilityTimeout', '43200', 'passed'],
    ['VisibilityTimeout', '43201', 'InvalidAttributeValue'],
    ['VisibilityTimeout', '-1', 'InvalidAttributeValue'],
    ['VisibilityTimeout', '1.5', 'InvalidAttributeValue'],
    ['DelaySeconds', '901', 'InvalidAttributeValue'],
    ['MaximumMessageSize', '1023', 'InvalidAttributeValue'],
    ['MaximumMessageSize', '1048576', 'passed'],
    ['MessageRetentionPeriod', '59', 'InvalidAttributeValue'],
    ['ReceiveMessageWaitTimeSeconds', '21', 'InvalidAttributeValue'],
    ['Policy', 'no json', 'InvalidAttributeValue'],
    ['Policy', '', 'passed'],
    ['Foobar', 'x', 'InvalidAttributeName'],
    ['QueueArn', 'x', 'InvalidAttributeName'],
    ['ContentBasedDeduplication', 'true', 'InvalidAttributeName'],
    ['DeduplicationScope', 'queue', 'InvalidAttributeName'],
    ['RedrivePolicy', 'no json', 'InvalidParameterValue'],
    ['RedrivePolicy', '{"deadLetterTargetArn":"arn:aws:sqs:r:a:d"}', 'InvalidParameterValue'],
    [
      'RedrivePolicy',
      '{"deadLetterTargetArn":"arn:aws:sqs:r:a:d","maxReceiveCount":0}',
      'InvalidParameterValue',
    ],
    ['RedrivePolicy', '{"deadLetterTargetArn":"d","maxReceiveCount":1}', 'InvalidParameterValue'],
    ['RedriveAllowPolicy', '{"redrivePermission":"byQueue"}', 'InvalidParameterValue'],
    ['RedriveAllowPolicy', '{"redrivePermission":"denyAll"}', 'passed'],
  ])('%s = %j: %s', (name, value, expected) => {
    expect(code(() => check({ [name]: value }))).toBe(expected);
  });

  it('take a receive count as text and give it in normal form', () => {
    const policy = '{"maxReceiveCount":"3", "deadLetterTargetArn":"arn:aws:sqs:r:a:d"}';
    expect(check({ RedrivePolicy: policy }).get('RedrivePolicy')).toBe(
      '{"deadLetterTargetArn":"arn:aws:sqs:r:a:d","maxReceiveCount":3}',
    );
  });

  it('answer the twelve of a fresh standard queue, without the computed six', () => {
    expect(Object.fromEntries(effectiveAttributes({}, false))).toEqual({
      DelaySeconds: '0',
      MaximumMessageSize: '1048576',
      MessageRetentionPeriod: '345600',
      ReceiveMessageWaitTimeSeconds: '0',
      VisibilityTimeout: '30',
      SqsManagedSseEnabled: 'true',
    });
    expect([...effectiveAttributes({}, true).keys()]).toContain('DeduplicationScope');
  });

  it('are removed by an empty text', () => {
    expect(mergeAttributes({ Policy: '{}', DelaySeconds: '1' }, check({ Policy: '' }))).toEqual({
      DelaySeconds: '1',
    });
  });

  it('know one kind of encryption at a time', () => {
    const key = { KmsMasterKeyId: 'alias/aws/sqs', KmsDataKeyReusePeriodSeconds: '300' };
    expect(code(() => check({ ...key, SqsManagedSseEnabled: 'true' }))).toBe('InvalidAttributeName');
    expect(code(() => check({ KmsMasterKeyId: '', SqsManagedSseEnabled: 'true' }))).toBe('passed');
    const answered = Object.fromEntries(effectiveAttributes(key, false));
    expect(answered).toMatchObject({ ...key, SqsManagedSseEnabled: 'false' });
    expect(effectiveAttributes({}, false).has('KmsMasterKeyId')).toBe(false);
    expect(code(() => check({ KmsDataKeyReusePeriodSeconds: '59' }))).toBe('InvalidAttributeValue');
  });

  it('want deduplication by group for throughput by group', () => {
    const merge = (given: Record<string, string>, current = {}) =>
      code(() => mergeAttributes(current, check(given, true)));
    const limit = { FifoThroughputLimit: 'perMessageGroupId' };
    const scope = { DeduplicationScope: 'messageGroup' };
    expect(merge(limit)).toBe('InvalidAttributeValue');
    expect(merge({ ...limit, ...scope })).toBe('passed');
    expect(merge(limit, scope)).toBe('passed');
    expect(merge({ DeduplicationScope: 'queue' }, { ...limit, ...scope })).toBe('InvalidAttributeValue');
  });

  it('become settings of the channel', () => {
    const attributes = { RedrivePolicy: '{"deadLetterTargetArn":"arn:aws:sqs:r:a:d","maxReceiveCount":3}' };
    expect(settingsOf(attributes, false)).toEqual({
      retentionMs: 345_600_000,
      deadLetter: { target: { channel: 'sqs.d' }, maxReceiveCount: 3, reasons: ['max-receives'] },
      expiredLeaseTo: 'tail',
      dedupWindowMs: 0,
      subChannelMarks: ['.g.'],
      subChannels: 'fair',
    });
    expect(settingsOf({}, true)).toMatchObject({
      expiredLeaseTo: 'origin',
      dedupWindowMs: 300_000,
      subChannelMarks: ['.g.'],
      subChannels: 'ordered',
    });
  });
});
