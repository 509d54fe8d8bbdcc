import { invalidSnsParameter } from '../errors.js';
import { optionalText, textsOf } from '../input.js';
import { topicArn } from '../names.js';
import { operation } from '../operation.js';
import { memberList, scalar, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { defaultTopicPolicy, withPermission } from './topic-policy.js';
import { updateTopic } from './update-topic.js';

/** AddPermission: one more statement in the topic's Policy, which is kept and given back. */
export const addPermission = operation({
  name: 'AddPermission',
  input: structure({
    TopicArn: scalar,
    Label: scalar,
    AWSAccountId: memberList(),
    ActionName: memberList(),
  }),
  output: undefined,
  async run(call) {
    const { input, services } = call;
    const label = optionalText(input, 'Label') ?? '';
    const accounts = textsOf(input, 'AWSAccountId');
    const actions = textsOf(input, 'ActionName');
    if (label === '') throw invalidSnsParameter('Label');
    if (actions.length === 0) throw invalidSnsParameter('ActionName');
    if (accounts.length === 0 || accounts.some((account) => !/^\d{12}$/.test(account))) {
      throw invalidSnsParameter('AWSAccountId');
    }
    await updateTopic(
      call,
      () => topicOf(call, input),
      ({ record, name }) => {
        const policy = record.attributes['Policy'] ?? defaultTopicPolicy(services.config, name);
        const arn = topicArn(services.config, name);
        const Policy = withPermission(policy, { label, accounts, actions, arn });
        return { ...record, attributes: { ...record.attributes, Policy } };
      },
    );
  },
});
