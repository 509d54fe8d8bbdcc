import type { Operation } from '../unary.js';
import { SchemaView, type GetSchemaRequest, type Schema } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { parseSchemaName } from './names.js';
import type { SchemaServices } from './revisions.js';
import { schemaView } from './views.js';

/** Answers a revision of a schema, the latest when the name says none; with its definition unless the basic view is asked for. */
export function getSchema({ schemas }: SchemaServices): Operation<GetSchemaRequest, Schema> {
  return (request) => {
    const name = parseSchemaName(request.name);
    const { info, revision } = schemas.requireRevision(name);
    const definition =
      request.view === SchemaView.BASIC ? undefined : schemas.definition(info.id, revision.id);
    return schemaView({ project: name.project, info, revision, definition });
  };
}
