import { invalidSnsParameter } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { scalars } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { readDataProtectionPolicy } from './data-protection-policy.js';
import { updateTopic } from './update-topic.js';

/** PutDataProtectionPolicy: kept and given back, without effect; an empty one takes it back. */
export const putDataProtectionPolicy = operation({
  name: 'PutDataProtectionPolicy',
  input: scalars('ResourceArn', 'DataProtectionPolicy'),
  output: undefined,
  async run(call) {
    const { input } = call;
    const find = () => topicOf(call, input, 'ResourceArn');
    const text = optionalText(input, 'DataProtectionPolicy');
    if (text === undefined) throw invalidSnsParameter('DataProtectionPolicy');
    const dataProtectionPolicy = text === '' ? undefined : readDataProtectionPolicy(text);
    if (find().fifo) {
      throw invalidSnsParameter('DataProtectionPolicy Reason: not supported for FIFO topics');
    }
    await updateTopic(call, find, ({ record }) => ({ ...record, dataProtectionPolicy }));
  },
});
