import { SNS_FAULTS } from '../errors.js';
import { topicArn } from '../names.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { entryMap, scalar, structure } from '../wire/shape.js';
import { subscriptionKeyOf } from './arn.js';
import { effectiveSubscriptionPolicy } from './delivery-policy.js';
import { isWebhook } from './subscription.js';
import { shownEndpoint } from './subscription-shape.js';

/** GetSubscriptionAttributes. */
export const getSubscriptionAttributes = operation({
  name: 'GetSubscriptionAttributes',
  input: structure({ SubscriptionArn: scalar }),
  output: structure({ Attributes: entryMap() }),
  run(call) {
    const { config, topics } = call.services;
    const subscription = topics.findSubscription(subscriptionKeyOf(call.input));
    if (subscription === undefined) throw new AwsFault(SNS_FAULTS.notFound, 'Subscription does not exist');
    const { key, record, raw, confirmed } = subscription;
    const { FilterPolicyScope, ...others } = record.attributes;
    const filtered = others['FilterPolicy'] !== undefined;
    const ofTopic = topics.find(record.topic)?.record.attributes['DeliveryPolicy'];
    return {
      Attributes: {
        SubscriptionArn: topicArn(config, key),
        TopicArn: topicArn(config, record.topic),
        Owner: config.accountId,
        Protocol: record.protocol,
        Endpoint: shownEndpoint(record.endpoint),
        ConfirmationWasAuthenticated: String(
          confirmed && (record.confirmedSigned ?? !isWebhook(record.protocol)),
        ),
        PendingConfirmation: String(!confirmed),
        SubscriptionPrincipal: `arn:aws:iam::${config.accountId}:root`,
        ...(isWebhook(record.protocol) && {
          EffectiveDeliveryPolicy: effectiveSubscriptionPolicy(ofTopic, others['DeliveryPolicy']),
        }),
        ...others,
        ...(record.replay !== undefined && { ReplayStatus: record.replay.status }),
        RawMessageDelivery: String(raw),
        // The scope shows only beside a policy.
        ...(filtered && { FilterPolicyScope: FilterPolicyScope ?? 'MessageAttributes' }),
      },
    };
  },
});
