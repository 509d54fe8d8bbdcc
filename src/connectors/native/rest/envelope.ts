import { status, type GrpcStatus, type StatusCode } from '../../kit/grpc-status.js';
import { writeJson } from '../wire/json-text.js';

/** What every answer but a router's is wrapped in. */
export function envelope(data: unknown, error?: string): string {
  const isError = error !== undefined;
  return writeJson({ is_error: isError, message: isError ? error : 'OK', data: isError ? null : data }, '\t');
}

/** An answer of the router itself: there is no such route, or it takes no such request. */
export function routerError(code: number, message: string): string {
  return writeJson({ error_code: code, message });
}

/** HTTP statuses of calls that failed; everything else is 400, as bad input is. */
const STATUSES: Partial<Record<StatusCode, number>> = {
  [status.UNAVAILABLE]: 503,
  [status.UNAUTHENTICATED]: 401,
  [status.PERMISSION_DENIED]: 403,
};

export function httpStatus({ code, details }: GrpcStatus): number {
  // Bad input and faults of ours share a code in the contract.
  if (code === status.INTERNAL && /^internal error$/i.test(details)) return 500;
  return STATUSES[code] ?? 400;
}
