import { invalidSnsParameter } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { scalars } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { defaultTopicPolicy, withoutPermission } from './topic-policy.js';
import { updateTopic } from './update-topic.js';

/** RemovePermission: takes a statement out of the topic's Policy; one that is not there is fine. */
export const removePermission = operation({
  name: 'RemovePermission',
  input: scalars('TopicArn', 'Label'),
  output: undefined,
  async run(call) {
    const { input, services } = call;
    const label = optionalText(input, 'Label') ?? '';
    if (label === '') throw invalidSnsParameter('Label');
    await updateTopic(
      call,
      () => topicOf(call, input),
      ({ record, name }) => {
        const policy = record.attributes['Policy'] ?? defaultTopicPolicy(services.config, name);
        const Policy = withoutPermission(policy, label);
        return { ...record, attributes: { ...record.attributes, Policy } };
      },
    );
  },
});
