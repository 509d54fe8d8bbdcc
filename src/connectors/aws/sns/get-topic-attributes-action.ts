import { topicArn } from '../names.js';
import { operation } from '../operation.js';
import { entryMap, scalar, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';

/** GetTopicAttributes. */
export const getTopicAttributes = operation({
  name: 'GetTopicAttributes',
  input: structure({ TopicArn: scalar }),
  output: structure({ Attributes: entryMap() }),
  run(call) {
    const { config, topics } = call.services;
    const topic = topicOf(call, call.input);
    let confirmed = 0;
    for (const _ of topics.subscriptionsOf(topic.name)) confirmed++;
    return {
      Attributes: {
        TopicArn: topicArn(config, topic.name),
        Owner: config.accountId,
        DisplayName: '',
        SubscriptionsConfirmed: String(confirmed),
        SubscriptionsPending: '0',
        SubscriptionsDeleted: '0',
        ...topic.record.attributes,
      },
    };
  },
});
