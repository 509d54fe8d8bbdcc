import { invalidArgument } from '../errors.js';
import type { Operation } from '../unary.js';
import type { CommitSchemaRequest, Schema } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import type { CompiledSchema } from './compiled-schema.js';
import { compileRequested } from './faults.js';
import { parseSchemaName } from './names.js';
import type { SchemaInfo } from './records.js';
import { addRevision, requestSchema, type SchemaServices } from './revisions.js';
import { SchemaFault } from './schema-fault.js';
import { schemaView } from './views.js';

/** Adds a revision. It must be of the schema's type and compatible with all revisions there are; it may say the same. */
export function commitSchema(services: SchemaServices): Operation<CommitSchemaRequest, Schema> {
  const { schemas } = services;
  return async (request) => {
    const { project, id } = parseSchemaName(request.name);
    const info = schemas.require(id);
    const { definition, type } = requestSchema(request.schema);
    const compiled = compileRequested({ type, definition });
    if (compiled.type !== info.record.type) {
      throw invalidArgument(`The type of a schema cannot change: it is ${info.record.type}.`);
    }
    checkFollowsAll(services, info, compiled);
    const revision = await addRevision(services, info, definition);
    return schemaView({ project, info, revision, definition });
  };
}

function checkFollowsAll({ schemas }: SchemaServices, info: SchemaInfo, compiled: CompiledSchema): void {
  for (const { id } of info.revisions) {
    try {
      compiled.checkFollows(schemas.compiled(info, id));
    } catch (caught) {
      if (!(caught instanceof SchemaFault)) throw caught;
      throw invalidArgument(`The schema is incompatible with revision '${id}': ${caught.message}.`);
    }
  }
}
