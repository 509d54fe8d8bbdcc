import { BrokerError } from '../../core/errors.js';
import type { ErrorKind } from '../../core/errors.js';
import { AwsFault } from './wire/fault.js';
import type { FaultKind } from './wire/fault.js';

function modelled(type: string, code: string, status = 400): FaultKind {
  return { type, code, status, modelled: true };
}

function common(type: string, code: string, status: number): FaultKind {
  return { type, code, status, modelled: false };
}

function sqs(name: string, status = 400): FaultKind {
  return modelled(name, `AWS.SimpleQueueService.${name}`, status);
}

/** Errors both services share: the framework's own. */
export const COMMON_FAULTS = {
  accessDenied: common('AccessDeniedException', 'AccessDenied', 403),
  internalFailure: common('InternalFailure', 'InternalFailure', 500),
  incompleteSignature: common('IncompleteSignatureException', 'IncompleteSignature', 400),
  invalidAction: common('InvalidAction', 'InvalidAction', 400),
  invalidParameterValue: common('InvalidParameterValueException', 'InvalidParameterValue', 400),
  missingAuthenticationToken: common(
    'MissingAuthenticationTokenException',
    'MissingAuthenticationToken',
    403,
  ),
  missingParameter: common('MissingRequiredParameterException', 'MissingParameter', 400),
  requestTooLarge: common('RequestEntityTooLargeException', 'RequestEntityTooLarge', 413),
  serialization: common('SerializationException', 'MalformedInput', 400),
  signatureDoesNotMatch: common('InvalidSignatureException', 'SignatureDoesNotMatch', 403),
  serviceUnavailable: common('ServiceUnavailable', 'ServiceUnavailable', 503),
  unknownOperation: common('UnknownOperationException', 'UnknownOperationException', 404),
  unrecognizedClient: common('UnrecognizedClientException', 'InvalidClientTokenId', 403),
} as const;

export const SQS_FAULTS = {
  batchEntryIdsNotDistinct: sqs('BatchEntryIdsNotDistinct'),
  batchRequestTooLong: sqs('BatchRequestTooLong'),
  emptyBatchRequest: sqs('EmptyBatchRequest'),
  invalidAttributeName: modelled('InvalidAttributeName', 'InvalidAttributeName'),
  invalidAttributeValue: modelled('InvalidAttributeValue', 'InvalidAttributeValue'),
  invalidBatchEntryId: sqs('InvalidBatchEntryId'),
  invalidMessageContents: modelled('InvalidMessageContents', 'InvalidMessageContents'),
  overLimit: modelled('OverLimit', 'OverLimit', 403),
  purgeQueueInProgress: sqs('PurgeQueueInProgress', 403),
  queueDeletedRecently: sqs('QueueDeletedRecently'),
  queueDoesNotExist: modelled('QueueDoesNotExist', 'AWS.SimpleQueueService.NonExistentQueue'),
  queueNameExists: modelled('QueueNameExists', 'QueueAlreadyExists'),
  resourceNotFound: modelled('ResourceNotFoundException', 'ResourceNotFoundException', 404),
  receiptHandleIsInvalid: modelled('ReceiptHandleIsInvalid', 'ReceiptHandleIsInvalid'),
  tooManyEntriesInBatchRequest: sqs('TooManyEntriesInBatchRequest'),
} as const;

export const SNS_FAULTS = {
  authorizationError: modelled('AuthorizationErrorException', 'AuthorizationError', 403),
  batchEntryIdsNotDistinct: modelled('BatchEntryIdsNotDistinctException', 'BatchEntryIdsNotDistinct'),
  batchRequestTooLong: modelled('BatchRequestTooLongException', 'BatchRequestTooLong'),
  emptyBatchRequest: modelled('EmptyBatchRequestException', 'EmptyBatchRequest'),
  filterPolicyLimitExceeded: modelled('FilterPolicyLimitExceededException', 'FilterPolicyLimitExceeded', 403),
  internalError: modelled('InternalErrorException', 'InternalError', 500),
  invalidBatchEntryId: modelled('InvalidBatchEntryIdException', 'InvalidBatchEntryId'),
  invalidParameter: modelled('InvalidParameterException', 'InvalidParameter'),
  invalidState: modelled('InvalidStateException', 'InvalidState'),
  notFound: modelled('NotFoundException', 'NotFound', 404),
  parameterValueInvalid: modelled('InvalidParameterValueException', 'ParameterValueInvalid'),
  replayLimitExceeded: modelled('ReplayLimitExceededException', 'ReplayLimitExceeded', 403),
  resourceNotFound: modelled('ResourceNotFoundException', 'ResourceNotFound', 404),
  subscriptionLimitExceeded: modelled('SubscriptionLimitExceededException', 'SubscriptionLimitExceeded', 403),
  tagLimitExceeded: modelled('TagLimitExceededException', 'TagLimitExceeded'),
  throttled: modelled('ThrottledException', 'Throttled', 429),
  tooManyEntriesInBatchRequest: modelled(
    'TooManyEntriesInBatchRequestException',
    'TooManyEntriesInBatchRequest',
  ),
  topicLimitExceeded: modelled('TopicLimitExceededException', 'TopicLimitExceeded', 403),
  validation: modelled('ValidationException', 'ValidationError'),
} as const;

export type Service = 'sqs' | 'sns' | 'sts';

/** What each service says for a kind of the core. `unavailable` and `draining` are answers every SDK tries again. */
export const FAULT_OF_KIND: Readonly<Record<Service, Readonly<Record<ErrorKind, FaultKind>>>> = {
  sqs: {
    'not-found': SQS_FAULTS.queueDoesNotExist,
    'already-exists': SQS_FAULTS.queueNameExists,
    'invalid-argument': COMMON_FAULTS.invalidParameterValue,
    // A concurrent change won; the same call may win next time.
    precondition: COMMON_FAULTS.serviceUnavailable,
    'lease-lost': SQS_FAULTS.receiptHandleIsInvalid,
    limit: SQS_FAULTS.overLimit,
    forbidden: COMMON_FAULTS.accessDenied,
    unauthenticated: COMMON_FAULTS.unrecognizedClient,
    unavailable: COMMON_FAULTS.serviceUnavailable,
    draining: COMMON_FAULTS.serviceUnavailable,
    internal: COMMON_FAULTS.internalFailure,
  },
  sns: {
    'not-found': SNS_FAULTS.notFound,
    'already-exists': SNS_FAULTS.invalidParameter,
    'invalid-argument': SNS_FAULTS.invalidParameter,
    precondition: COMMON_FAULTS.serviceUnavailable,
    'lease-lost': SNS_FAULTS.invalidParameter,
    limit: SNS_FAULTS.throttled,
    forbidden: SNS_FAULTS.authorizationError,
    unauthenticated: COMMON_FAULTS.unrecognizedClient,
    unavailable: COMMON_FAULTS.serviceUnavailable,
    draining: COMMON_FAULTS.serviceUnavailable,
    internal: SNS_FAULTS.internalError,
  },
  // Its one operation asks nothing of the core.
  sts: {
    'not-found': COMMON_FAULTS.invalidParameterValue,
    'already-exists': COMMON_FAULTS.invalidParameterValue,
    'invalid-argument': COMMON_FAULTS.invalidParameterValue,
    precondition: COMMON_FAULTS.serviceUnavailable,
    'lease-lost': COMMON_FAULTS.invalidParameterValue,
    limit: COMMON_FAULTS.serviceUnavailable,
    forbidden: COMMON_FAULTS.accessDenied,
    unauthenticated: COMMON_FAULTS.unrecognizedClient,
    unavailable: COMMON_FAULTS.serviceUnavailable,
    draining: COMMON_FAULTS.serviceUnavailable,
    internal: COMMON_FAULTS.internalFailure,
  },
};

/** Whatever was caught, as a fault of the service. What an internal error says stays inside. */
export function faultOf(service: Service, caught: unknown): AwsFault {
  if (caught instanceof AwsFault) return caught;
  const error = BrokerError.from(caught);
  const kind = FAULT_OF_KIND[service][error.kind];
  if (service === 'sqs' && error.kind === 'not-found') return queueDoesNotExist();
  return new AwsFault(
    kind,
    error.kind === 'internal' ? 'The request failed on the server side.' : error.message,
  );
}

export function queueDoesNotExist(): AwsFault {
  const text = 'The specified queue does not exist';
  return new AwsFault(SQS_FAULTS.queueDoesNotExist, `${text}.`, `${text} for this wsdl version.`);
}

export function missingParameter(name: string): AwsFault {
  return new AwsFault(COMMON_FAULTS.missingParameter, `The request must contain the parameter ${name}.`);
}

export function invalidParameterValue(message: string): AwsFault {
  return new AwsFault(COMMON_FAULTS.invalidParameterValue, message);
}

/** SQS's usual sentence for one wrong value. */
export function invalidValue(value: string, parameter: string, reason: string): AwsFault {
  return invalidParameterValue(`Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`);
}

/** SNS's usual sentence: `Invalid parameter: …`. */
export function invalidSnsParameter(what: string): AwsFault {
  return new AwsFault(SNS_FAULTS.invalidParameter, `Invalid parameter: ${what}`);
}
