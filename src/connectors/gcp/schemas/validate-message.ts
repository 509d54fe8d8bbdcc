import { create } from '@bufbuild/protobuf';
import { badArgument } from '../errors.js';
import { parseProject } from '../resource-names.js';
import type { Operation } from '../unary.js';
import {
  Encoding,
  ValidateMessageResponseSchema,
  type ValidateMessageRequest,
  type ValidateMessageResponse,
} from '../wire/gen/google/pubsub/v1/schema_pb.js';
import type { CompiledSchema, DataEncoding } from './compiled-schema.js';
import { compileRequested, invalidData } from './faults.js';
import { parseSchemaName } from './names.js';
import { definitionKey } from './records.js';
import type { SchemaServices } from './revisions.js';
import { SchemaFault } from './schema-fault.js';

/** Checks data against a stored schema or one that the request brings. */
export function validateMessage(
  services: SchemaServices,
): Operation<ValidateMessageRequest, ValidateMessageResponse> {
  return (request) => {
    parseProject(request.parent);
    const encoding = dataEncoding(request.encoding);
    if (encoding === undefined) throw badArgument('encoding');
    const { schema, revisionInfo } = schemaOf(services, request);
    try {
      schema.check(request.message, encoding);
    } catch (caught) {
      if (!(caught instanceof SchemaFault)) throw caught;
      throw invalidData({ schema, encoding, fault: caught.message, revisionInfo });
    }
    return create(ValidateMessageResponseSchema);
  };
}

export function dataEncoding(encoding: Encoding): DataEncoding | undefined {
  if (encoding === Encoding.JSON) return 'JSON';
  return encoding === Encoding.BINARY ? 'BINARY' : undefined;
}

function schemaOf(
  { schemas }: SchemaServices,
  { schemaSpec }: ValidateMessageRequest,
): { readonly schema: CompiledSchema; readonly revisionInfo: string } {
  switch (schemaSpec.case) {
    case 'name': {
      const { info, revision } = schemas.requireRevision(parseSchemaName(schemaSpec.value));
      return {
        schema: schemas.compiled(info, revision.id),
        revisionInfo: definitionKey(info.id, revision.id),
      };
    }
    case 'schema':
      return { schema: compileRequested(schemaSpec.value), revisionInfo: '' };
    default:
      throw badArgument('schema_spec');
  }
}
