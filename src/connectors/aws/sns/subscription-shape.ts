import { topicArn } from '../names.js';
import type { AwsConfig } from '../config.js';
import { memberList, scalar, scalars, structure } from '../wire/shape.js';
import type { Subscription } from './subscription.js';

/** Answer of both listings of subscriptions. */
export const subscriptionList = structure({
  Subscriptions: memberList(scalars('SubscriptionArn', 'Owner', 'Protocol', 'Endpoint', 'TopicArn')),
  NextToken: scalar,
});

export function subscriptionItem(config: AwsConfig, { key, record, confirmed }: Subscription): object {
  return {
    // Whoever can list it need not be able to confirm it.
    SubscriptionArn: confirmed ? topicArn(config, key) : 'PendingConfirmation',
    Owner: config.accountId,
    Protocol: record.protocol,
    Endpoint: shownEndpoint(record.endpoint),
    TopicArn: topicArn(config, record.topic),
  };
}

/** An endpoint as it may be shown: a password in it is hidden. */
export function shownEndpoint(endpoint: string): string {
  return endpoint.replace(/^(https?:\/\/[^/?#@:]*):[^/?#]*@/, '$1:****@');
}
