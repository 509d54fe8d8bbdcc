import { AccessDenied } from '../../core/access/resource.js';
import { BrokerError } from '../../core/errors.js';
import { grpcStatus, type GrpcErrorTable } from '../kit/grpc-call.js';
import { status, type GrpcStatus, type StatusCode } from '../kit/grpc-status.js';

/** Every kind of error as its gRPC status code (google.rpc.Code). */
export const GCP_STATUS: GrpcErrorTable = {
  'not-found': status.NOT_FOUND,
  'already-exists': status.ALREADY_EXISTS,
  'invalid-argument': status.INVALID_ARGUMENT,
  precondition: status.FAILED_PRECONDITION,
  'lease-lost': status.FAILED_PRECONDITION,
  limit: status.RESOURCE_EXHAUSTED,
  forbidden: status.PERMISSION_DENIED,
  unauthenticated: status.UNAUTHENTICATED,
  unavailable: status.UNAVAILABLE,
  draining: status.UNAVAILABLE,
  internal: status.INTERNAL,
};

/** A status that stands for no kind of broker error. */
export class StatusError extends Error {
  readonly status: GrpcStatus;

  constructor(code: StatusCode, details: string, trailers?: GrpcStatus['trailers']) {
    super(details);
    this.name = 'StatusError';
    this.status = { code, details, ...(trailers === undefined ? {} : { trailers }) };
  }
}

const NOT_AUTHENTICATED: GrpcStatus = {
  code: status.UNAUTHENTICATED,
  details:
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
};
const NOT_AUTHORIZED: GrpcStatus = {
  code: status.PERMISSION_DENIED,
  details: 'User not authorized to perform this action.',
};

export function statusOf(caught: unknown): GrpcStatus {
  if (caught instanceof AccessDenied) return NOT_AUTHORIZED;
  if (caught instanceof BrokerError && caught.kind === 'unauthenticated') return NOT_AUTHENTICATED;
  return caught instanceof StatusError ? caught.status : grpcStatus(caught, GCP_STATUS);
}

/**
 * How every stream that the server ends on purpose is closed: clients match one or the other sentence (Google's own, and
 * the specification's) to tell it from a failure, and open a new stream.
 */
export const STREAM_CLOSED = new StatusError(
  status.UNAVAILABLE,
  'The StreamingPull stream closed for an expected reason and should be recreated: the stream has been closed.',
);

// Google's sentences, for those who match them.

export function resourceNotFound(id: string): BrokerError {
  return new BrokerError('not-found', `Resource not found (resource=${id}).`);
}

export function resourceExists(id: string): BrokerError {
  return new BrokerError('already-exists', `Resource already exists in the project (resource=${id}).`);
}

/** What a failed creation says: that another one was faster is no news about registry versions. */
export function creationFault(caught: unknown, id: string): unknown {
  return caught instanceof BrokerError && caught.kind === 'already-exists' ? resourceExists(id) : caught;
}

export function invalidArgument(details: string): BrokerError {
  return new BrokerError('invalid-argument', details);
}

export function precondition(details: string): BrokerError {
  return new BrokerError('precondition', details);
}

/** Pull and StreamingPull on a subscription that is pushed. */
export function notPullable(): BrokerError {
  return precondition('This method is not supported for this subscription type.');
}

export function detachedFault(): BrokerError {
  return precondition('The subscription is detached from its topic.');
}

export function badArgument(argument: string): BrokerError {
  return invalidArgument(`You have passed an invalid argument to the service (argument=${argument}).`);
}

export function badAckId(id: string): BrokerError {
  return invalidArgument(`You have passed an invalid ack ID to the service (ack_id=${id}).`);
}

export function badAckDeadline(seconds: number, min: number): BrokerError {
  return invalidArgument(
    `Invalid ack deadline given (ack_deadline=${seconds}). The ack deadline must be between ${min} and 600 seconds.`,
  );
}

/** A ModifyAckDeadline of 1 to 9 seconds. */
export function shortAckDeadline(seconds: number): BrokerError {
  return invalidArgument(
    `Invalid ack deadline given (ack_deadline=${seconds}). The ack deadline must be 0 or between 10 and 600 seconds.`,
  );
}
