import { SNS_FAULTS } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { scalar, structure } from '../wire/shape.js';
import { subscriptionKeyOf } from './arn.js';
import { checkSubscriptionAttribute } from './subscription-attributes.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

/** SetSubscriptionAttributes: one attribute a call. */
export const setSubscriptionAttributes = operation({
  name: 'SetSubscriptionAttributes',
  input: structure({ SubscriptionArn: scalar, AttributeName: scalar, AttributeValue: scalar }),
  output: undefined,
  async run(call) {
    const { broker, topics } = call.services;
    const subscription = topics.findSubscription(subscriptionKeyOf(call.input));
    if (subscription === undefined) throw new AwsFault(SNS_FAULTS.notFound, 'Subscription does not exist');
    const name = optionalText(call.input, 'AttributeName') ?? '';
    const value = checkSubscriptionAttribute(name, optionalText(call.input, 'AttributeValue') ?? '', '');
    const { key, record, version } = subscription;
    const changed = { ...record, attributes: { ...record.attributes, [name]: value } };
    await broker.change([{ do: 'put', kind: SUBSCRIPTION_KIND, key, value: changed, expected: version }]);
  },
});
