import { invalidSnsParameter } from '../errors.js';

/** The attributes AWS knows for subscriptions: only the first changes anything here yet, the rest is refused by name. */
const KNOWN: ReadonlySet<string> = new Set([
  'RawMessageDelivery',
  'FilterPolicy',
  'FilterPolicyScope',
  'RedrivePolicy',
  'DeliveryPolicy',
  'SubscriptionRoleArn',
  'ReplayPolicy',
]);

/** Checks one attribute and gives its normal form. `prefix` stands before the fault's text. Throws InvalidParameter. */
export function checkSubscriptionAttribute(name: string, value: string, prefix: string): string {
  if (!KNOWN.has(name)) throw invalidSnsParameter('AttributeName');
  if (name !== 'RawMessageDelivery') {
    throw invalidSnsParameter(`${prefix}${name} is not supported by this endpoint`);
  }
  const lower = value.toLowerCase();
  if (lower !== 'true' && lower !== 'false') {
    throw invalidSnsParameter(
      `${prefix}RawMessageDelivery: Invalid value [${value.slice(0, 100)}]. Must be true or false.`,
    );
  }
  return lower;
}
