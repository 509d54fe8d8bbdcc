import { AccessDenied } from '../../core/access/resource.js';
import { BrokerError } from '../../core/errors.js';
import { grpcStatus, type GrpcErrorTable } from '../kit/grpc-call.js';
import { status, type GrpcStatus } from '../kit/grpc-status.js';
import { TEXTS } from './error-texts.js';

/**
 * Status codes of calls that fail. The contract answers bad input with INTERNAL and a numbered text; what clients should try
 * again is UNAVAILABLE.
 */
export const NATIVE_STATUS: GrpcErrorTable = {
  'not-found': status.NOT_FOUND,
  'already-exists': status.ALREADY_EXISTS,
  'invalid-argument': status.INTERNAL,
  precondition: status.FAILED_PRECONDITION,
  'lease-lost': status.FAILED_PRECONDITION,
  limit: status.RESOURCE_EXHAUSTED,
  forbidden: status.PERMISSION_DENIED,
  unauthenticated: status.UNAUTHENTICATED,
  unavailable: status.UNAVAILABLE,
  draining: status.UNAVAILABLE,
  internal: status.INTERNAL,
};

/** A call that ends with this status: bad input in the contract's words, or what the contract wants instead. */
export class CallFault extends Error {
  readonly status: GrpcStatus;

  constructor(answer: GrpcStatus) {
    super(answer.details);
    this.name = 'CallFault';
    this.status = answer;
  }

  /** Bad input: INTERNAL with the contract's text. */
  static input(text: string): CallFault {
    return new CallFault({ code: status.INTERNAL, details: text });
  }
}

/** The status for whatever was caught. */
export function nativeStatus(caught: unknown): GrpcStatus {
  if (caught instanceof CallFault) return caught.status;
  if (caught instanceof AccessDenied) return { code: status.PERMISSION_DENIED, details: TEXTS.accessDenied };
  const answer = grpcStatus(caught, NATIVE_STATUS);
  if (answer.code === status.UNAUTHENTICATED) return { ...answer, details: TEXTS.unauthenticated };
  return BrokerError.from(caught).kind === 'draining' ? { ...answer, details: TEXTS.shutdown } : answer;
}

/** The text for whatever was caught, where the contract reports failures inside a message. */
export function nativeText(caught: unknown): string {
  return nativeStatus(caught).details;
}
