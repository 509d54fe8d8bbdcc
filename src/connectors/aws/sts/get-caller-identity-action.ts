import { operation } from '../operation.js';
import { scalars, structure } from '../wire/shape.js';

/** GetCallerIdentity: the account's root, whoever asks. Tools call it to learn the account and to try their credentials. */
export const getCallerIdentity = operation({
  name: 'GetCallerIdentity',
  input: structure({}),
  output: scalars('Arn', 'UserId', 'Account'),
  run({ services: { config }, senderId }) {
    return { Arn: `arn:aws:iam::${config.accountId}:root`, UserId: senderId, Account: config.accountId };
  },
});
