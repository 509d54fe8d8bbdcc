import { create } from '@bufbuild/protobuf';
import { pageOf } from '../paging.js';
import type { Operation } from '../unary.js';
import {
  ListSchemaRevisionsResponseSchema,
  SchemaView,
  type ListSchemaRevisionsRequest,
  type ListSchemaRevisionsResponse,
} from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { parseSchemaName } from './names.js';
import type { SchemaServices } from './revisions.js';
import { schemaView } from './views.js';

/** More revisions than a schema ever makes: turns places into keys that sort the newest first. */
const PLACES = 1_000_000_000;

/** Lists the revisions of a schema, the newest first, without definitions unless the full view is asked for. */
export function listSchemaRevisions({
  schemas,
}: SchemaServices): Operation<ListSchemaRevisionsRequest, ListSchemaRevisionsResponse> {
  return (request) => {
    const { project, id } = parseSchemaName(request.name);
    const info = schemas.require(id);
    const newestFirst = info.record.revisions
      .map((revision, place) => ({ revision, key: String(PLACES - place).padStart(10, '0') }))
      .filter(({ revision }) => revision.deleted !== true)
      .reverse();
    const { items, nextPageToken } = pageOf(newestFirst, ({ key }) => key, request);
    const isFull = request.view === SchemaView.FULL;
    return create(ListSchemaRevisionsResponseSchema, {
      schemas: items.map(({ revision }) =>
        schemaView({
          project,
          info,
          revision,
          definition: isFull ? schemas.definition(id, revision.id) : undefined,
        }),
      ),
      nextPageToken,
    });
  };
}
