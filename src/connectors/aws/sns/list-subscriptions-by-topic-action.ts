import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { snsPage } from './list-topics-action.js';
import { subscriptionItem, subscriptionList } from './subscription-shape.js';

/** ListSubscriptionsByTopic: those of one topic, a hundred a page. */
export const listSubscriptionsByTopic = operation({
  name: 'ListSubscriptionsByTopic',
  input: structure({ TopicArn: scalar, NextToken: scalar }),
  output: subscriptionList,
  run(call) {
    const { topics, config } = call.services;
    const topic = topicOf(call, call.input);
    const sorted = [...topics.subscriptionsOf(topic.name)].sort((a, b) => (a.key < b.key ? -1 : 1));
    const page = snsPage(sorted, ({ key }) => key, call.input);
    return {
      Subscriptions: page.items.map((item) => subscriptionItem(config, item)),
      ...(page.nextToken !== undefined && { NextToken: page.nextToken }),
    };
  },
});
