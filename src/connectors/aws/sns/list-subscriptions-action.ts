import { topicResource } from '../access.js';
import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { snsPage } from './list-topics-action.js';
import { subscriptionItem, subscriptionList } from './subscription-shape.js';

/** ListSubscriptions: all of the account, a hundred a page. */
export const listSubscriptions = operation({
  name: 'ListSubscriptions',
  input: structure({ NextToken: scalar }),
  output: subscriptionList,
  run(call) {
    const { topics, config } = call.services;
    const all = topics
      .subscriptions()
      .filter(({ record }) => call.client?.sees('queue', topicResource(record.topic)) !== false);
    const page = snsPage(all, ({ key }) => key, call.input);
    return {
      Subscriptions: page.items.map((item) => subscriptionItem(config, item)),
      ...(page.nextToken !== undefined && { NextToken: page.nextToken }),
    };
  },
});
