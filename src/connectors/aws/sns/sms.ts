import { invalidSnsParameter, SNS_FAULTS } from '../errors.js';
import { optionalText, textsOf } from '../input.js';
import type { Input } from '../input.js';
import { operation } from '../operation.js';
import type { Operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { entryMap, memberList, scalar, scalars, structure } from '../wire/shape.js';

/*
 * Text messages, answered as AWS answers an account that sends none and is still in the sandbox. What would change
 * something is refused: nothing here sends a text message.
 */

const PHONE_NUMBER = /^\+?[1-9]\d{1,14}$/;
/** What AWS says of an account that set nothing. */
const DEFAULTS: Readonly<Record<string, string>> = { MonthlySpendLimit: '1' };

function phoneNumberOf(input: Input, name: string): string {
  const number = optionalText(input, name) ?? '';
  if (!PHONE_NUMBER.test(number))
    throw invalidSnsParameter('PhoneNumber Reason: input incorrectly formatted');
  return number;
}

function sandboxNumber({ input }: { readonly input: Input }): never {
  phoneNumberOf(input, 'PhoneNumber');
  throw new AwsFault(SNS_FAULTS.resourceNotFound, 'The phone number is not in the sandbox of this account');
}

export const SMS_OPERATIONS: readonly Operation[] = [
  operation({
    name: 'CheckIfPhoneNumberIsOptedOut',
    input: scalars('phoneNumber'),
    output: scalars('isOptedOut'),
    run: ({ input }) => {
      phoneNumberOf(input, 'phoneNumber');
      return { isOptedOut: false };
    },
  }),
  operation({
    name: 'ListPhoneNumbersOptedOut',
    input: scalars('nextToken'),
    output: structure({ phoneNumbers: memberList(), nextToken: scalar }),
    run: () => ({ phoneNumbers: [] }),
  }),
  operation({
    name: 'OptInPhoneNumber',
    input: scalars('phoneNumber'),
    output: structure({}),
    run: ({ input }) => {
      phoneNumberOf(input, 'phoneNumber');
      return {};
    },
  }),
  operation({
    name: 'GetSMSAttributes',
    input: structure({ attributes: memberList() }),
    output: structure({ attributes: entryMap() }),
    run: ({ input }) => {
      const asked = textsOf(input, 'attributes');
      const entries = Object.entries(DEFAULTS).filter(([name]) => asked.length === 0 || asked.includes(name));
      return { attributes: Object.fromEntries(entries) };
    },
  }),
  operation({
    name: 'SetSMSAttributes',
    input: structure({ attributes: entryMap() }),
    output: structure({}),
    run: () => {
      throw invalidSnsParameter('attributes Reason: this endpoint sends no SMS');
    },
  }),
  operation({
    name: 'CreateSMSSandboxPhoneNumber',
    input: scalars('PhoneNumber', 'LanguageCode'),
    output: structure({}),
    run: ({ input }) => {
      phoneNumberOf(input, 'PhoneNumber');
      throw invalidSnsParameter('PhoneNumber Reason: this endpoint sends no SMS');
    },
  }),
  operation({
    name: 'DeleteSMSSandboxPhoneNumber',
    input: scalars('PhoneNumber'),
    output: structure({}),
    run: sandboxNumber,
  }),
  operation({
    name: 'VerifySMSSandboxPhoneNumber',
    input: scalars('PhoneNumber', 'OneTimePassword'),
    output: structure({}),
    run: sandboxNumber,
  }),
  operation({
    name: 'ListSMSSandboxPhoneNumbers',
    input: scalars('NextToken', 'MaxResults'),
    output: structure({ PhoneNumbers: memberList(scalars('PhoneNumber', 'Status')), NextToken: scalar }),
    run: () => ({ PhoneNumbers: [] }),
  }),
  operation({
    name: 'GetSMSSandboxAccountStatus',
    input: structure({}),
    output: scalars('IsInSandbox'),
    run: () => ({ IsInSandbox: true }),
  }),
  operation({
    name: 'ListOriginationNumbers',
    input: scalars('NextToken', 'MaxResults'),
    output: structure({ PhoneNumbers: memberList(scalars('PhoneNumber')), NextToken: scalar }),
    run: () => ({ PhoneNumbers: [] }),
  }),
];
