import { badArgument, invalidArgument } from '../errors.js';
import type { Operation } from '../unary.js';
import type { DeleteSchemaRevisionRequest, Schema } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { parseSchemaName } from './names.js';
import { DEFINITION_KIND, definitionKey } from './records.js';
import { changeSchema, putSchema, type SchemaServices } from './revisions.js';
import { schemaView } from './views.js';

/** Deletes a revision, named in the name (`…@{revision}`) or, as it once was, beside it; answers what it was. */
export function deleteSchemaRevision(
  services: SchemaServices,
): Operation<DeleteSchemaRevisionRequest, Schema> {
  const { schemas } = services;
  return async (request) => {
    const name = parseSchemaName(request.name);
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- older clients still send it
    const revisionId = name.revisionId === '' ? request.revisionId : name.revisionId;
    if (revisionId === '') throw badArgument('name');
    const { info, revision } = schemas.requireRevision({ ...name, revisionId });
    if (info.revisions.length === 1) {
      throw invalidArgument('Cannot delete last revision. Please use DeleteSchema.');
    }
    const { id, record, version } = info;
    const definition = schemas.definition(id, revisionId);
    const revisions = record.revisions.map((each) => (each === revision ? { ...each, deleted: true } : each));
    await changeSchema(services, id, [
      putSchema(id, { ...record, revisions }, version),
      { do: 'remove', kind: DEFINITION_KIND, key: definitionKey(id, revisionId) },
    ]);
    return schemaView({ project: name.project, info, revision, definition });
  };
}
