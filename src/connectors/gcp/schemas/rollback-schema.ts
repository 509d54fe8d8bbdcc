import { badArgument, resourceNotFound } from '../errors.js';
import type { Operation } from '../unary.js';
import type { RollbackSchemaRequest, Schema } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { parseSchemaName } from './names.js';
import { definitionKey } from './records.js';
import { addRevision, type SchemaServices } from './revisions.js';
import { schemaView } from './views.js';

/** Adds a revision with the definition of an earlier one. */
export function rollbackSchema(services: SchemaServices): Operation<RollbackSchemaRequest, Schema> {
  const { schemas } = services;
  return async (request) => {
    const { project, id } = parseSchemaName(request.name);
    const info = schemas.require(id);
    const { revisionId } = request;
    if (revisionId === '') throw badArgument('revision_id');
    if (info.revisions.every((each) => each.id !== revisionId)) {
      throw resourceNotFound(definitionKey(id, revisionId));
    }
    const definition = schemas.definition(id, revisionId);
    const revision = await addRevision(services, info, definition);
    return schemaView({ project, info, revision, definition });
  };
}
