import { invalidSnsParameter } from '../errors.js';
import { FIFO_SUFFIX, queueNameOfArn } from '../names.js';
import { AttributeFault, faultsWith } from './attribute-fault.js';
import { readSubscriptionDeliveryPolicy } from './delivery-policy.js';
import { checkFilterPolicy } from './filter-policy-check.js';
import { readReplayPolicy } from './replay-policy.js';
import { isWebhook } from './subscription.js';
import { jsonMap } from './topic-policy.js';

/** Attributes as a subscription keeps them: only those that were set, in normal form. */
export type SubscriptionAttributes = Readonly<Record<string, string>>;

/** The attributes AWS knows for subscriptions. */
const KNOWN: ReadonlySet<string> = new Set([
  'RawMessageDelivery',
  'FilterPolicy',
  'FilterPolicyScope',
  'RedrivePolicy',
  'DeliveryPolicy',
  'SubscriptionRoleArn',
  'ReplayPolicy',
]);

/** What of a subscription its attributes depend on. */
export interface SubscriptionPlace {
  readonly topicFifo: boolean;
  readonly protocol: string;
  readonly endpoint: string;
  /** The topic keeps what is published. */
  readonly archived: boolean;
  /** Unix ms. */
  readonly now: number;
}

/** Checks the attributes of Subscribe together. Throws InvalidParameter. */
export function readSubscriptionAttributes(
  given: ReadonlyMap<string, string>,
  place: SubscriptionPlace,
): SubscriptionAttributes {
  let attributes: SubscriptionAttributes = {};
  // The scope first: what a policy may say depends on it.
  const order = [...given].sort(
    ([a], [b]) => Number(b === 'FilterPolicyScope') - Number(a === 'FilterPolicyScope'),
  );
  for (const [name, value] of order) {
    attributes = withSubscriptionAttribute(attributes, { name, value, prefix: 'Attributes Reason: ' }, place);
  }
  return attributes;
}

/** The attributes with one more checked and set; `prefix` stands before a fault's text. Throws InvalidParameter. */
export function withSubscriptionAttribute(
  attributes: SubscriptionAttributes,
  { name, value, prefix }: { readonly name: string; readonly value: string; readonly prefix: string },
  place: SubscriptionPlace,
): SubscriptionAttributes {
  if (!KNOWN.has(name)) throw invalidSnsParameter(`${prefix}AttributeName`);
  const read = faultsWith(prefix, () => readAttribute(name, value, attributes, place));
  const others = Object.fromEntries(Object.entries(attributes).filter(([key]) => key !== name));
  return read === '' ? others : { ...others, [name]: read };
}

/** The normal form of one value; `''` takes it back. Throws AttributeFault. */
function readAttribute(
  name: string,
  value: string,
  attributes: SubscriptionAttributes,
  place: SubscriptionPlace,
): string {
  switch (name) {
    case 'RawMessageDelivery':
      return readRaw(value);
    case 'FilterPolicy':
      return checkFilterPolicy(value, scopeOf(attributes['FilterPolicyScope']));
    case 'FilterPolicyScope':
      return readScope(value, attributes['FilterPolicy']);
    case 'RedrivePolicy':
      return readRedrive(value, place);
    case 'DeliveryPolicy':
      if (value === '') return '';
      if (!isWebhook(place.protocol)) {
        throw new AttributeFault(`DeliveryPolicy: not supported for protocol ${place.protocol}`);
      }
      return withName('DeliveryPolicy', () => readSubscriptionDeliveryPolicy(value));
    case 'ReplayPolicy':
      return withName('ReplayPolicy', () => readReplayPolicy(value, place));
    default:
      if (value === '') return '';
      throw new AttributeFault(`${name} is not supported by this endpoint`);
  }
}

function withName(name: string, read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (error instanceof AttributeFault) throw new AttributeFault(`${name}: ${error.message}`);
    throw error;
  }
}

function readRaw(value: string): string {
  const lower = value.toLowerCase();
  if (lower === 'true' || lower === 'false') return lower;
  throw new AttributeFault(
    `RawMessageDelivery: Invalid value [${value.slice(0, 100)}]. Must be true or false.`,
  );
}

function scopeOf(value: string | undefined): 'attributes' | 'body' {
  return value === 'MessageBody' ? 'body' : 'attributes';
}

function readScope(value: string, policy: string | undefined): string {
  if (value !== 'MessageAttributes' && value !== 'MessageBody') {
    throw new AttributeFault(
      `FilterPolicyScope: Invalid value [${value.slice(0, 100)}]. Please use either MessageBody or MessageAttributes`,
    );
  }
  if (policy !== undefined) checkFilterPolicy(policy, scopeOf(value));
  return value;
}

function readRedrive(value: string, { topicFifo, endpoint }: SubscriptionPlace): string {
  if (value === '') return '';
  const policy = jsonMap(value);
  if (policy === undefined) throw new AttributeFault('RedrivePolicy: failed to parse JSON.');
  if (Object.keys(policy).length === 0) return '';
  const unknown = Object.keys(policy).find((key) => key !== 'deadLetterTargetArn');
  if (unknown !== undefined) {
    throw new AttributeFault(`RedrivePolicy: invalid JSON. Attribute ${unknown.slice(0, 100)} is unknown.`);
  }
  const arn = policy['deadLetterTargetArn'];
  const queue = typeof arn === 'string' ? queueNameOfArn(arn) : undefined;
  if (queue === undefined) throw new AttributeFault('RedrivePolicy: deadLetterTargetArn is an invalid arn');
  const fifo = queue.endsWith(FIFO_SUFFIX);
  if (topicFifo && endpoint.endsWith(FIFO_SUFFIX) && !fifo) {
    throw new AttributeFault(
      'RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.',
    );
  }
  if (!topicFifo && fifo) {
    throw new AttributeFault(
      'RedrivePolicy: a FIFO queue cannot be the DLQ of a subscription to a standard topic.',
    );
  }
  return JSON.stringify({ deadLetterTargetArn: arn });
}
