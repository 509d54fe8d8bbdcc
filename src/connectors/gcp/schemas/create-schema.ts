import { creationFault, resourceExists } from '../errors.js';
import { checkNewSchemaId, parseProject, resourceName } from '../resource-names.js';
import type { Operation } from '../unary.js';
import type { CreateSchemaRequest, Schema } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { compileRequested } from './faults.js';
import { newRevision, putDefinition, putSchema, requestSchema, type SchemaServices } from './revisions.js';
import { schemaView } from './views.js';

/** Creates a schema with its first revision. The name in the request's schema is ignored. */
export function createSchema(services: SchemaServices): Operation<CreateSchemaRequest, Schema> {
  const { broker, schemas } = services;
  return async (request) => {
    const project = parseProject(request.parent);
    const id = request.schemaId;
    checkNewSchemaId(resourceName(project, 'schemas', id), id);
    const { definition, type } = requestSchema(request.schema);
    const compiled = compileRequested({ type, definition });
    if (schemas.get(id) !== undefined) throw resourceExists(id);
    const revision = newRevision(services);
    const record = { type: compiled.type, revisions: [revision] };
    const created = broker.change([putSchema(id, record, 0), putDefinition(id, revision.id, definition)]);
    await created.catch((caught: unknown) => {
      throw creationFault(caught, id);
    });
    return schemaView({ project, info: { id, record }, revision, definition });
  };
}
