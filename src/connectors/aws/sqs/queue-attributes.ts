import type { QueueSettings } from '../../../core/queue/types.js';
import { invalidParameterValue, SQS_FAULTS } from '../errors.js';
import { GROUP_MARK, queueChannel, queueNameOfArn } from '../names.js';
import { AwsFault } from '../wire/fault.js';
import { readRedriveAllowPolicy, readRedrivePolicy } from './redrive-policy.js';

/** How long a deduplication id is remembered. */
const DEDUP_WINDOW_MS = 5 * 60 * 1000;
const POLICY_BYTES_MAX = 8_192;

/** Attributes as a queue keeps them: only those that were set, in normal form. */
export type QueueAttributes = Readonly<Record<string, string>>;

interface AttributeRule {
  /** The normal form of a value; undefined when it is not allowed. `fifo`: the kind of queue it is for. */
  readonly normalise: (value: string) => string | undefined;
  /** What a queue without the attribute answers; absent: it answers nothing. */
  readonly standard?: string;
  readonly fifo?: string;
  /** `''` removes the attribute. */
  readonly clearable?: boolean;
  readonly fifoOnly?: boolean;
}

function integer(low: number, high: number): (value: string) => string | undefined {
  return (value) => {
    if (!/^\d{1,9}$/.test(value)) return undefined;
    const number = Number(value);
    return number >= low && number <= high ? String(number) : undefined;
  };
}

function boolean(value: string): string | undefined {
  const lower = value.toLowerCase();
  return lower === 'true' || lower === 'false' ? lower : undefined;
}

function oneOf(...values: readonly string[]): (value: string) => string | undefined {
  return (value) => (values.includes(value) ? value : undefined);
}

function policy(value: string): string | undefined {
  if (Buffer.byteLength(value) > POLICY_BYTES_MAX) {
    throw new AwsFault(
      SQS_FAULTS.invalidAttributeValue,
      'Invalid value for the parameter Policy. Reason: Submitted policy is over max allowed size.',
    );
  }
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function shortText(value: string): string | undefined {
  return value.length <= 2_048 ? value : undefined;
}

/** Every attribute a client may set. */
const RULES: ReadonlyMap<string, AttributeRule> = new Map<string, AttributeRule>([
  ['DelaySeconds', { normalise: integer(0, 900), standard: '0', fifo: '0' }],
  ['MaximumMessageSize', { normalise: integer(1_024, 1_048_576), standard: '1048576', fifo: '1048576' }],
  ['MessageRetentionPeriod', { normalise: integer(60, 1_209_600), standard: '345600', fifo: '345600' }],
  ['ReceiveMessageWaitTimeSeconds', { normalise: integer(0, 20), standard: '0', fifo: '0' }],
  ['VisibilityTimeout', { normalise: integer(0, 43_200), standard: '30', fifo: '30' }],
  ['SqsManagedSseEnabled', { normalise: boolean, standard: 'true', fifo: 'true' }],
  ['KmsMasterKeyId', { normalise: shortText, clearable: true }],
  ['KmsDataKeyReusePeriodSeconds', { normalise: integer(60, 86_400) }],
  ['Policy', { normalise: policy, clearable: true }],
  ['RedrivePolicy', { normalise: readRedrivePolicy, clearable: true }],
  ['RedriveAllowPolicy', { normalise: readRedriveAllowPolicy, clearable: true }],
  ['FifoQueue', { normalise: boolean, fifo: 'true', fifoOnly: true }],
  ['ContentBasedDeduplication', { normalise: boolean, fifo: 'false', fifoOnly: true }],
  ['DeduplicationScope', { normalise: oneOf('queue', 'messageGroup'), fifo: 'queue', fifoOnly: true }],
  [
    'FifoThroughputLimit',
    { normalise: oneOf('perQueue', 'perMessageGroupId'), fifo: 'perQueue', fifoOnly: true },
  ],
]);

/** Attributes the queue itself answers. */
const COMPUTED: ReadonlySet<string> = new Set([
  'All',
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
  'CreatedTimestamp',
  'LastModifiedTimestamp',
  'QueueArn',
]);

export function isQueueAttributeName(name: string): boolean {
  return COMPUTED.has(name) || RULES.has(name);
}

/**
 * Checks given attributes and puts them in normal form; an attribute to remove maps to ''. Throws InvalidAttributeName
 * and InvalidAttributeValue.
 */
export function checkAttributes(given: ReadonlyMap<string, string>, fifo: boolean): Map<string, string> {
  const out = new Map<string, string>();
  for (const [name, value] of given) {
    const rule = RULES.get(name);
    if (rule === undefined || (rule.fifoOnly === true && !fifo)) {
      const scoped = name === 'DeduplicationScope' || name === 'FifoThroughputLimit';
      const text = scoped
        ? `You can specify the ${name} only when FifoQueue is set to true.`
        : `Unknown Attribute ${name}.`;
      throw new AwsFault(SQS_FAULTS.invalidAttributeName, text);
    }
    if (value === '' && rule.clearable === true) {
      out.set(name, '');
      continue;
    }
    const normal = rule.normalise(value);
    if (normal === undefined) {
      throw new AwsFault(SQS_FAULTS.invalidAttributeValue, `Invalid value for the parameter ${name}.`);
    }
    out.set(name, normal);
  }
  if ((out.get('KmsMasterKeyId') ?? '') !== '' && out.get('SqsManagedSseEnabled') === 'true') {
    throw new AwsFault(
      SQS_FAULTS.invalidAttributeName,
      'You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.',
    );
  }
  return out;
}

/** What a queue's record becomes with checked changes of its attributes. Throws as `checkAttributes` does. */
export function mergeChecked<T>(
  queue: {
    readonly fifo: boolean;
    readonly record: { readonly attributes: QueueAttributes; readonly tags: T };
  },
  changes: ReadonlyMap<string, string>,
): { readonly attributes: QueueAttributes; readonly tags: T } {
  const { attributes, tags } = queue.record;
  return { attributes: mergeAttributes(attributes, checkAttributes(changes, queue.fifo)), tags };
}

/** The queue's own attributes with `changes` applied. Throws InvalidAttributeValue when they do not go together. */
export function mergeAttributes(
  current: QueueAttributes,
  changes: ReadonlyMap<string, string>,
): QueueAttributes {
  const out: Record<string, string> = { ...current };
  for (const [name, value] of changes) {
    if (value === '') Reflect.deleteProperty(out, name);
    else out[name] = value;
  }
  // One kind of encryption at a time: what is chosen last takes the other's place, for good.
  if ((changes.get('KmsMasterKeyId') ?? '') !== '') out['SqsManagedSseEnabled'] = 'false';
  if (changes.get('SqsManagedSseEnabled') === 'true') Reflect.deleteProperty(out, 'KmsMasterKeyId');
  if (out['FifoThroughputLimit'] === 'perMessageGroupId' && out['DeduplicationScope'] !== 'messageGroup') {
    throw new AwsFault(
      SQS_FAULTS.invalidAttributeValue,
      'Invalid value for the parameter FifoThroughputLimit. Reason: The perMessageGroupId value is allowed only when the ' +
        'value for DeduplicationScope is messageGroup.',
    );
  }
  return out;
}

/** What a queue answers for a settable attribute; undefined when it has none. */
export function effectiveAttribute(
  attributes: QueueAttributes,
  name: string,
  fifo: boolean,
): string | undefined {
  const own = attributes[name];
  if (name === 'KmsDataKeyReusePeriodSeconds') {
    // There is none without a key.
    return attributes['KmsMasterKeyId'] === undefined ? undefined : (own ?? '300');
  }
  if (own !== undefined) return own;
  if (name === 'SqsManagedSseEnabled' && attributes['KmsMasterKeyId'] !== undefined) return 'false';
  const rule = RULES.get(name);
  return fifo ? rule?.fifo : rule?.standard;
}

/** All settable attributes the queue answers, defaults included. */
export function effectiveAttributes(attributes: QueueAttributes, fifo: boolean): Map<string, string> {
  const out = new Map<string, string>();
  for (const name of RULES.keys()) {
    const value = effectiveAttribute(attributes, name, fifo);
    if (value !== undefined) out.set(name, value);
  }
  return out;
}

/** A settable attribute that is a number. */
export function numericAttribute(attributes: QueueAttributes, name: string, fifo: boolean): number {
  return Number(effectiveAttribute(attributes, name, fifo) ?? '0');
}

/** The settings of a queue's channel that follow from its attributes. */
export function settingsOf(attributes: QueueAttributes, fifo: boolean): Partial<QueueSettings> {
  return {
    retentionMs: numericAttribute(attributes, 'MessageRetentionPeriod', fifo) * 1000,
    deadLetter: deadLetterOf(attributes),
    expiredLeaseTo: fifo ? 'origin' : 'tail',
    dedupWindowMs: fifo ? DEDUP_WINDOW_MS : 0,
    subChannelMarks: [GROUP_MARK],
    subChannels: fifo ? 'ordered' : 'fair',
  };
}

/**
 * What changes on another protocol's channel that an SQS queue is an alias of: only what is, or was `before`, set through
 * SQS itself, so that its own protocol's ways stay.
 */
export function settingsBehindAlias(
  attributes: QueueAttributes,
  before: QueueAttributes = {},
): Partial<QueueSettings> {
  const { retentionMs, deadLetter } = settingsOf(attributes, false);
  const redrives = attributes['RedrivePolicy'] !== undefined || before['RedrivePolicy'] !== undefined;
  return {
    ...(attributes['MessageRetentionPeriod'] !== undefined && retentionMs !== undefined && { retentionMs }),
    ...(redrives && { deadLetter }),
  };
}

function deadLetterOf(attributes: QueueAttributes): QueueSettings['deadLetter'] {
  const text = attributes['RedrivePolicy'];
  if (text === undefined) return undefined;
  const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(text) as RedrivePolicy;
  const name = queueNameOfArn(deadLetterTargetArn);
  if (name === undefined) throw invalidParameterValue('Invalid value for deadLetterTargetArn.');
  return {
    // A letter of a FIFO group lands on the same group of a FIFO target: the core keeps sub-channels apart.
    target: { channel: queueChannel(name) },
    maxReceiveCount,
    reasons: ['max-receives'],
  };
}

/** The normal form of a RedrivePolicy. */
export interface RedrivePolicy {
  readonly deadLetterTargetArn: string;
  readonly maxReceiveCount: number;
}
