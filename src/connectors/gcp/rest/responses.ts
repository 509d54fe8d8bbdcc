import { createRegistry, fromBinary, toJson, type JsonValue } from '@bufbuild/protobuf';
import { status, type GrpcStatus, type StatusCode } from '../../kit/grpc-status.js';
import type { WholeRequest } from '../../kit/whole-request.js';
import { isObject } from './json-check.js';
import { STATUS_DETAILS_TRAILER } from '../status-details.js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  HelpSchema,
  LocalizedMessageSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '../wire/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../wire/gen/google/rpc/status_pb.js';

/** google.rpc.Code as HTTP statuses (google/rpc/code.proto). */
const HTTP_STATUS: Readonly<Record<StatusCode, number>> = {
  [status.OK]: 200,
  [status.CANCELLED]: 499,
  [status.UNKNOWN]: 500,
  [status.INVALID_ARGUMENT]: 400,
  [status.DEADLINE_EXCEEDED]: 504,
  [status.NOT_FOUND]: 404,
  [status.ALREADY_EXISTS]: 409,
  [status.PERMISSION_DENIED]: 403,
  [status.RESOURCE_EXHAUSTED]: 429,
  [status.FAILED_PRECONDITION]: 400,
  [status.ABORTED]: 409,
  [status.OUT_OF_RANGE]: 400,
  [status.UNIMPLEMENTED]: 501,
  [status.INTERNAL]: 500,
  [status.UNAVAILABLE]: 503,
  [status.DATA_LOSS]: 500,
  [status.UNAUTHENTICATED]: 401,
};

const STATUS_NAMES: ReadonlyMap<StatusCode, string> = new Map(
  Object.entries(status).map(([name, code]) => [code, name]),
);

/** Types that details of errors may be of. */
export const DETAIL_TYPES = createRegistry(
  BadRequestSchema,
  ErrorInfoSchema,
  HelpSchema,
  LocalizedMessageSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
);

const JSON_HEADERS = [
  'Content-Type',
  'application/json; charset=UTF-8',
  'X-Content-Type-Options',
  'nosniff',
] as const;

export function replyJson(exchange: WholeRequest, json: JsonValue): void {
  exchange.reply(200, JSON_HEADERS, JSON.stringify(json));
}

/** Answers with Google's error envelope. */
export function replyError(exchange: WholeRequest, error: GrpcStatus): void {
  const code = HTTP_STATUS[error.code];
  const details = detailsOf(error);
  const envelope = {
    error: {
      code,
      message: error.details,
      status: STATUS_NAMES.get(error.code) ?? 'UNKNOWN',
      ...(details.length === 0 ? {} : { details }),
    },
  };
  exchange.reply(code, JSON_HEADERS, JSON.stringify(envelope));
}

function detailsOf({ trailers = [] }: GrpcStatus): readonly JsonValue[] {
  const bytes = trailers.find(([name]) => name === STATUS_DETAILS_TRAILER)?.[1];
  if (bytes === undefined || typeof bytes === 'string') return [];
  const json = toJson(StatusSchema, fromBinary(StatusSchema, bytes), { registry: DETAIL_TYPES });
  return isObject(json) && Array.isArray(json['details']) ? json['details'] : [];
}
