import { invalidSnsParameter } from '../errors.js';
import { FIFO_SUFFIX, topicArn } from '../names.js';
import type { AwsConfig } from '../config.js';
import { archivedMs, readArchivePolicy } from './archive.js';
import { AttributeFault, faultsWith } from './attribute-fault.js';
import { effectiveTopicPolicy, readTopicDeliveryPolicy } from './delivery-policy.js';
import type { TopicRecord } from './topic-registry.js';
import { defaultTopicPolicy, readTopicPolicy } from './topic-policy.js';

/** Attributes as a topic keeps them: only those that were set, in normal form. */
export type TopicAttributes = Readonly<Record<string, string>>;

const DISPLAY_NAME_CHARS_MAX = 100;
const TEXT_CHARS_MAX = 2_048;
const NAME = /^[A-Za-z0-9_-]+$/;
const NAME_CHARS_MAX = 256;

interface AttributeRule {
  /** The normal form of a value. Throws AttributeFault. */
  readonly read: (value: string) => string;
  readonly fifoOnly?: boolean;
  /** Set with CreateTopic or never. */
  readonly fixed?: boolean;
}

function invalidValue(value: string, why: string): AttributeFault {
  return new AttributeFault(`Invalid value [${value.slice(0, 100)}]. ${why}`);
}

function boolean(value: string): string {
  const lower = value.toLowerCase();
  if (lower === 'true' || lower === 'false') return lower;
  throw invalidValue(value, 'Must be true or false.');
}

function oneOf(...values: readonly string[]): AttributeRule['read'] {
  return (value) => {
    if (values.includes(value)) return value;
    throw invalidValue(value, `Must be one of ${values.join(', ')}.`);
  };
}

function shortText(value: string): string {
  if (value.length <= TEXT_CHARS_MAX) return value;
  throw invalidValue(value, `At most ${TEXT_CHARS_MAX} characters.`);
}

function percentage(value: string): string {
  if (/^\d{1,3}$/.test(value) && Number(value) <= 100) return String(Number(value));
  throw invalidValue(value, 'Must be a whole number from 0 to 100.');
}

function displayName(value: string): string {
  if (value.length <= DISPLAY_NAME_CHARS_MAX) return value;
  throw invalidValue(value, `At most ${DISPLAY_NAME_CHARS_MAX} characters.`);
}

/** Kept and given back without effect: there is no IAM, KMS, X-Ray or CloudWatch here. */
const FEEDBACK: readonly (readonly [string, AttributeRule])[] = [
  'HTTP',
  'Firehose',
  'Lambda',
  'Application',
  'SQS',
].flatMap((service): [string, AttributeRule][] => [
  [`${service}SuccessFeedbackRoleArn`, { read: shortText }],
  [`${service}FailureFeedbackRoleArn`, { read: shortText }],
  [`${service}SuccessFeedbackSampleRate`, { read: percentage }],
]);

const RULES: ReadonlyMap<string, AttributeRule> = new Map<string, AttributeRule>([
  ['DisplayName', { read: displayName }],
  ['Policy', { read: readTopicPolicy }],
  ['DeliveryPolicy', { read: readTopicDeliveryPolicy }],
  ['KmsMasterKeyId', { read: shortText }],
  ['TracingConfig', { read: oneOf('PassThrough', 'Active') }],
  ['SignatureVersion', { read: oneOf('1', '2') }],
  ['FifoTopic', { read: boolean, fixed: true }],
  ['ContentBasedDeduplication', { read: boolean, fifoOnly: true }],
  ['FifoThroughputScope', { read: oneOf('Topic', 'MessageGroup'), fifoOnly: true }],
  ['ArchivePolicy', { read: readArchivePolicy, fifoOnly: true }],
  ...FEEDBACK,
]);

/** Whether a topic's name and its FifoTopic attribute are legal together. Throws InvalidParameter. */
export function checkTopicName(name: string, fifo: boolean): void {
  const stem = fifo && name.endsWith(FIFO_SUFFIX) ? name.slice(0, -FIFO_SUFFIX.length) : name;
  if (name.length <= NAME_CHARS_MAX && NAME.test(stem) && (stem !== name) === fifo) return;
  throw invalidSnsParameter('Topic Name');
}

/** Checks one attribute of SetTopicAttributes; `''` takes it back. Throws InvalidParameter. */
export function readTopicAttribute(name: string, value: string, fifo: boolean): string {
  const rule = RULES.get(name);
  if (rule === undefined || rule.fixed === true) throw invalidSnsParameter('AttributeName');
  return value === '' ? '' : readChecked(name, value, { fifo, prefix: '' });
}

/** Checks the attributes of CreateTopic. Throws InvalidParameter. */
export function readTopicAttributes(given: ReadonlyMap<string, string>): TopicAttributes {
  const asked = given.get('FifoTopic');
  const fifo = asked?.toLowerCase() === 'true';
  const out: Record<string, string> = {};
  for (const [name, value] of given) {
    if (!RULES.has(name)) {
      throw invalidSnsParameter(`Attributes Reason: Unknown attribute ${name.slice(0, 100)}`);
    }
    const read =
      value === '' && name !== 'FifoTopic'
        ? ''
        : readChecked(name, value, { fifo, prefix: 'Attributes Reason: ' });
    // What is false or empty is as if it had not been set.
    if (read !== '' && !(name === 'FifoTopic' && read === 'false')) out[name] = read;
  }
  return out;
}

function readChecked(
  name: string,
  value: string,
  { fifo, prefix }: { readonly fifo: boolean; readonly prefix: string },
): string {
  const rule = RULES.get(name);
  if (rule === undefined) throw invalidSnsParameter(`${prefix}AttributeName`);
  if (rule.fifoOnly === true && !fifo) {
    throw invalidSnsParameter(`${prefix}${name}: this attribute can only be set on FIFO topics`);
  }
  return faultsWith(`${prefix}${name}: `, () => rule.read(value));
}

/** What GetTopicAttributes answers from the record: defaults and what was set. */
export function topicAttributeAnswer(
  config: AwsConfig,
  { name, record }: { readonly name: string; readonly record: TopicRecord },
  now: number,
): Record<string, string> {
  const { attributes, archivedSince } = record;
  const keptMs = archivedMs(attributes);
  const fifo = attributes['FifoTopic'] === 'true';
  return {
    TopicArn: topicArn(config, name),
    Owner: config.accountId,
    DisplayName: '',
    Policy: defaultTopicPolicy(config, name),
    EffectiveDeliveryPolicy: effectiveTopicPolicy(attributes['DeliveryPolicy']),
    ...(fifo && { FifoTopic: 'true', ContentBasedDeduplication: 'false' }),
    ...attributes,
    ...(keptMs !== undefined && {
      BeginningArchiveTime: new Date(Math.max(archivedSince ?? 0, now - keptMs)).toISOString(),
    }),
  };
}
