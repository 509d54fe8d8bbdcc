import { invalidSnsParameter, SNS_FAULTS } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import type { Call, Operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { entryMap, memberList, scalar, scalars, structure } from '../wire/shape.js';
import { resourceOf } from './arn.js';

/*
 * Mobile push, answered as AWS answers an account without a platform application: lists are empty, removals are fine, what
 * is asked for by name does not exist. Making one is refused: nothing here would deliver to it.
 */

function applicationOf(call: Call): never {
  const parameter = 'PlatformApplicationArn';
  resourceOf(optionalText(call.input, parameter), parameter);
  throw new AwsFault(SNS_FAULTS.notFound, 'PlatformApplication does not exist');
}

function endpointOf(call: Call): never {
  resourceOf(optionalText(call.input, 'EndpointArn'), 'EndpointArn');
  throw new AwsFault(SNS_FAULTS.notFound, 'Endpoint does not exist');
}

const items = (name: string) => memberList(structure({ [name]: scalar, Attributes: entryMap() }));

export const MOBILE_PUSH_OPERATIONS: readonly Operation[] = [
  operation({
    name: 'CreatePlatformApplication',
    input: structure({ Name: scalar, Platform: scalar, Attributes: entryMap() }),
    output: scalars('PlatformApplicationArn'),
    run: () => {
      throw invalidSnsParameter('Platform Reason: this endpoint delivers no mobile push');
    },
  }),
  operation({
    name: 'DeletePlatformApplication',
    input: scalars('PlatformApplicationArn'),
    output: undefined,
    run: ({ input }) => {
      resourceOf(optionalText(input, 'PlatformApplicationArn'), 'PlatformApplicationArn');
    },
  }),
  operation({
    name: 'GetPlatformApplicationAttributes',
    input: scalars('PlatformApplicationArn'),
    output: structure({ Attributes: entryMap() }),
    run: applicationOf,
  }),
  operation({
    name: 'SetPlatformApplicationAttributes',
    input: structure({ PlatformApplicationArn: scalar, Attributes: entryMap() }),
    output: undefined,
    run: applicationOf,
  }),
  operation({
    name: 'ListPlatformApplications',
    input: scalars('NextToken'),
    output: structure({ PlatformApplications: items('PlatformApplicationArn'), NextToken: scalar }),
    run: () => ({ PlatformApplications: [] }),
  }),
  operation({
    name: 'ListEndpointsByPlatformApplication',
    input: scalars('PlatformApplicationArn', 'NextToken'),
    output: structure({ Endpoints: items('EndpointArn'), NextToken: scalar }),
    run: applicationOf,
  }),
  operation({
    name: 'CreatePlatformEndpoint',
    input: structure({
      PlatformApplicationArn: scalar,
      Token: scalar,
      CustomUserData: scalar,
      Attributes: entryMap(),
    }),
    output: scalars('EndpointArn'),
    run: applicationOf,
  }),
  operation({
    name: 'DeleteEndpoint',
    input: scalars('EndpointArn'),
    output: undefined,
    run: ({ input }) => {
      resourceOf(optionalText(input, 'EndpointArn'), 'EndpointArn');
    },
  }),
  operation({
    name: 'GetEndpointAttributes',
    input: scalars('EndpointArn'),
    output: structure({ Attributes: entryMap() }),
    run: endpointOf,
  }),
  operation({
    name: 'SetEndpointAttributes',
    input: structure({ EndpointArn: scalar, Attributes: entryMap() }),
    output: undefined,
    run: endpointOf,
  }),
];
