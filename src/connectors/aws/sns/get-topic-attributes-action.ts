import { operation } from '../operation.js';
import { entryMap, scalar, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { topicAttributeAnswer } from './topic-attributes.js';

/** GetTopicAttributes. Subscriptions go at once when they are ended, so none is ever counted as deleted. */
export const getTopicAttributes = operation({
  name: 'GetTopicAttributes',
  input: structure({ TopicArn: scalar }),
  output: structure({ Attributes: entryMap() }),
  run(call) {
    const { config, topics, clock } = call.services;
    const topic = topicOf(call, call.input);
    let confirmed = 0;
    let pending = 0;
    for (const subscription of topics.subscriptionsOf(topic.name)) {
      if (subscription.confirmed) confirmed++;
      else pending++;
    }
    return {
      Attributes: {
        ...topicAttributeAnswer(config, topic, clock.now()),
        SubscriptionsConfirmed: String(confirmed),
        SubscriptionsPending: String(pending),
        SubscriptionsDeleted: '0',
      },
    };
  },
});
