import { SNS_FAULTS } from '../errors.js';
import { topicArn } from '../names.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { entryMap, scalar, structure } from '../wire/shape.js';
import { subscriptionKeyOf } from './arn.js';

/** GetSubscriptionAttributes. */
export const getSubscriptionAttributes = operation({
  name: 'GetSubscriptionAttributes',
  input: structure({ SubscriptionArn: scalar }),
  output: structure({ Attributes: entryMap() }),
  run(call) {
    const { config, topics } = call.services;
    const subscription = topics.findSubscription(subscriptionKeyOf(call.input));
    if (subscription === undefined) throw new AwsFault(SNS_FAULTS.notFound, 'Subscription does not exist');
    const { key, record, raw } = subscription;
    return {
      Attributes: {
        SubscriptionArn: topicArn(config, key),
        TopicArn: topicArn(config, record.topic),
        Owner: config.accountId,
        Protocol: record.protocol,
        Endpoint: record.endpoint,
        ConfirmationWasAuthenticated: 'true',
        PendingConfirmation: 'false',
        RawMessageDelivery: String(raw),
      },
    };
  },
});
