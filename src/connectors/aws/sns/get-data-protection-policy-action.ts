import { operation } from '../operation.js';
import { scalars } from '../wire/shape.js';
import { topicOf } from './arn.js';

/** GetDataProtectionPolicy: what was put, empty when nothing was. */
export const getDataProtectionPolicy = operation({
  name: 'GetDataProtectionPolicy',
  input: scalars('ResourceArn'),
  output: scalars('DataProtectionPolicy'),
  run(call) {
    const { dataProtectionPolicy } = topicOf(call, call.input, 'ResourceArn').record;
    return { DataProtectionPolicy: dataProtectionPolicy ?? '' };
  },
});
