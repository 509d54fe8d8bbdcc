import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import type { StatusCode } from '../kit/grpc-status.js';
import { StatusError } from './errors.js';
import { ErrorInfoSchema } from './wire/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from './wire/gen/google/rpc/status_pb.js';

/** The trailer that carries a whole google.rpc.Status, its details included. */
export const STATUS_DETAILS_TRAILER = 'grpc-status-details-bin';

const DOMAIN = 'pubsub.googleapis.com';

export interface ErrorInfoParts {
  readonly reason: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A status with google.rpc.ErrorInfo details, in the order given. */
export function statusWithInfo(
  code: StatusCode,
  message: string,
  infos: readonly ErrorInfoParts[],
): StatusError {
  const details = infos.map(({ reason, metadata = {} }) => {
    const info: MessageInitShape<typeof ErrorInfoSchema> = {
      reason,
      domain: DOMAIN,
      metadata: { ...metadata },
    };
    return anyPack(ErrorInfoSchema, create(ErrorInfoSchema, info));
  });
  const status = toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
  return new StatusError(code, message, [[STATUS_DETAILS_TRAILER, status]]);
}
