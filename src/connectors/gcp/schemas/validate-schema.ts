import { create } from '@bufbuild/protobuf';
import { parseProject } from '../resource-names.js';
import type { Operation } from '../unary.js';
import {
  ValidateSchemaResponseSchema,
  type ValidateSchemaRequest,
  type ValidateSchemaResponse,
} from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { compileRequested } from './faults.js';
import { requestSchema } from './revisions.js';

/** Says whether a definition could be created; stores nothing. */
export function validateSchema(): Operation<ValidateSchemaRequest, ValidateSchemaResponse> {
  return (request) => {
    parseProject(request.parent);
    compileRequested(requestSchema(request.schema));
    return create(ValidateSchemaResponseSchema);
  };
}
