import { invalidValue, missingParameter, SQS_FAULTS } from '../errors.js';
import { optionalText, textsOf } from '../input.js';
import type { Input } from '../input.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { flatList, scalar, structure } from '../wire/shape.js';
import { withStatement } from './access-policy.js';
import { mergeChecked } from './queue-attributes.js';
import { updateQueue } from './set-queue-attributes-action.js';

const LABEL = /^[A-Za-z0-9_-]{1,80}$/;
const ACTIONS_MAX = 7;
/** What others than the owner can be allowed to do. */
const SHARED_ACTIONS: ReadonlySet<string> = new Set([
  '*',
  'ChangeMessageVisibility',
  'DeleteMessage',
  'GetQueueAttributes',
  'GetQueueUrl',
  'ListDeadLetterSourceQueues',
  'PurgeQueue',
  'ReceiveMessage',
  'SendMessage',
]);

/** AddPermission: one more statement in the queue's Policy, which is kept and given back. */
export const addPermission = operation({
  name: 'AddPermission',
  input: structure({
    QueueUrl: scalar,
    Label: scalar,
    AWSAccountIds: flatList('AWSAccountId'),
    Actions: flatList('ActionName'),
  }),
  output: undefined,
  async run(call) {
    const label = readLabel(call.input);
    const accounts = textsOf(call.input, 'AWSAccountIds');
    const actions = textsOf(call.input, 'Actions');
    if (call.input['AWSAccountIds'] === undefined) throw missingParameter('AWSAccountIds');
    if (accounts.length === 0) throw invalidValue('[]', 'PrincipalId', 'Unable to verify.');
    if (actions.length === 0) throw missingParameter('Actions');
    for (const account of accounts) {
      if (!/^\d{12}$/.test(account)) throw invalidValue(account, 'PrincipalId', 'Unable to verify.');
    }
    if (actions.length > ACTIONS_MAX) {
      throw new AwsFault(
        SQS_FAULTS.overLimit,
        `${actions.length} Actions were found, maximum allowed is ${ACTIONS_MAX}.`,
      );
    }
    for (const action of actions) {
      if (!SHARED_ACTIONS.has(action)) {
        throw invalidValue(
          `SQS:${action}`,
          'ActionName',
          'Only the queue owner is allowed to invoke this action.',
        );
      }
    }
    await updateQueue(call, (queue) => {
      const policy = withStatement(call.services.config, queue, { label, accounts, actions });
      return mergeChecked(queue, new Map([['Policy', policy]]));
    });
  },
});

export function readLabel(input: Input): string {
  const label = optionalText(input, 'Label');
  if (label === undefined || label === '') throw missingParameter('Label');
  if (!LABEL.test(label)) {
    throw invalidValue(
      label.slice(0, 200),
      'Label',
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.',
    );
  }
  return label;
}
