/** Status codes of gRPC. */
export const status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type StatusCode = (typeof status)[keyof typeof status];

/** What ends a call with an error. */
export interface GrpcStatus {
  readonly code: StatusCode;
  readonly details: string;
  /** Further trailers. Bytes belong to names that end in `-bin`, such as `grpc-status-details-bin`. */
  readonly trailers?: readonly (readonly [name: string, value: string | Uint8Array])[];
}

/** A fault of a call that the transport itself finds. */
export class GrpcFault extends Error {
  readonly status: GrpcStatus;

  constructor(code: StatusCode, details: string) {
    super(details);
    this.name = 'GrpcFault';
    this.status = { code, details };
  }
}
