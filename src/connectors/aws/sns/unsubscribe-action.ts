import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { subscriptionKeyOf } from './arn.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

/** Unsubscribe: a subscription that is not there is fine. */
export const unsubscribe = operation({
  name: 'Unsubscribe',
  input: structure({ SubscriptionArn: scalar }),
  output: undefined,
  async run(call) {
    const key = subscriptionKeyOf(call.input);
    const { broker, topics } = call.services;
    if (topics.findSubscription(key) === undefined) return;
    await broker.change([{ do: 'remove', kind: SUBSCRIPTION_KIND, key }]);
  },
});
