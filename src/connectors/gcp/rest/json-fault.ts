import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { status } from '../../kit/grpc-status.js';
import { StatusError } from '../errors.js';
import { STATUS_DETAILS_TRAILER } from '../status-details.js';
import { BadRequestSchema } from '../wire/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../wire/gen/google/rpc/status_pb.js';

/** One thing wrong with a request's JSON; `field` is '' for the request itself. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** INVALID_ARGUMENT with google.rpc.BadRequest details, as Google's front end refuses JSON. */
export function badJson(violations: readonly FieldViolation[]): StatusError {
  const code = status.INVALID_ARGUMENT;
  const message = violations.map(({ description }) => description).join('\n');
  const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
  const details = [anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations }))];
  const bytes = toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
  return new StatusError(code, message, [[STATUS_DETAILS_TRAILER, bytes]]);
}
