import type { Change } from '../../../core/registry/types.js';
import { SNS_FAULTS } from '../errors.js';
import { topicResource } from '../access.js';
import { deliveryChannel } from '../names.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { scalars } from '../wire/shape.js';
import { subscriptionKeyOf } from './arn.js';
import { replayChanges } from './replay-progress.js';
import { isWebhook } from './subscription.js';
import { newToken, tokenChange } from './tokens.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

/**
 * Unsubscribe: also by the unsigned link in a notification, unless its subscriber asked otherwise. Endpoints are told, with
 * a token that brings the subscription back. One that is not there is fine.
 */
export const unsubscribe = operation({
  name: 'Unsubscribe',
  input: scalars('SubscriptionArn'),
  output: undefined,
  allowsUnsigned: () => true,
  async run(call) {
    const key = subscriptionKeyOf(call.input);
    const { broker, topics, clock, ids, webhooks } = call.services;
    const subscription = topics.findSubscription(key);
    if (subscription === undefined) return;
    const { record, confirmed } = subscription;
    // What the link in a delivery may not do either.
    if (record.authenticateOnUnsubscribe === true)
      call.client?.require('queue', 'read', topicResource(record.topic));
    if (record.authenticateOnUnsubscribe === true && !call.signed) {
      throw new AwsFault(
        SNS_FAULTS.authorizationError,
        'This subscription can only be ended by a request that is signed',
      );
    }
    const changes: Change[] = [{ do: 'remove', kind: SUBSCRIPTION_KIND, key }];
    if (record.replay !== undefined) changes.push(...replayChanges(key, false));
    if (isWebhook(record.protocol)) changes.push({ do: 'delete-queue', channel: deliveryChannel(key) });
    if (!isWebhook(record.protocol) || !confirmed) {
      await broker.change(changes);
      return;
    }
    const token = newToken(ids);
    changes.push(tokenChange(token, { subscription: key, createdAt: clock.now(), ended: record }));
    await broker.change(changes);
    await webhooks.askToConfirm(record, { token, ended: key });
  },
});
