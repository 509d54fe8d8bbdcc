import { topicArn } from '../names.js';
import type { AwsConfig } from '../config.js';
import { memberList, scalar, scalars, structure } from '../wire/shape.js';
import type { Subscription } from './topic-registry.js';

/** Answer of both listings of subscriptions. */
export const subscriptionList = structure({
  Subscriptions: memberList(scalars('SubscriptionArn', 'Owner', 'Protocol', 'Endpoint', 'TopicArn')),
  NextToken: scalar,
});

export function subscriptionItem(config: AwsConfig, { key, record }: Subscription): object {
  return {
    SubscriptionArn: topicArn(config, key),
    Owner: config.accountId,
    Protocol: record.protocol,
    Endpoint: record.endpoint,
    TopicArn: topicArn(config, record.topic),
  };
}
