import { create } from '@bufbuild/protobuf';
import type { ChannelName } from '../../../core/channel-name.js';
import { pageOf } from '../paging.js';
import { parseProject } from '../resource-names.js';
import type { Operation } from '../unary.js';
import {
  ListSchemasResponseSchema,
  SchemaView,
  type ListSchemasRequest,
  type ListSchemasResponse,
} from '../wire/gen/google/pubsub/v1/schema_pb.js';
import type { SchemaServices } from './revisions.js';
import { schemaView } from './views.js';

/** Lists the latest revisions of all schemas by id, without definitions unless the full view is asked for. */
export function listSchemas({
  schemas,
  client,
}: SchemaServices): Operation<ListSchemasRequest, ListSchemasResponse> {
  return (request) => {
    const project = parseProject(request.parent);
    const seen = schemas
      .list()
      .filter(({ id }) => client?.sees('log', `gcp.schema.${id}` as ChannelName) !== false);
    const { items, nextPageToken } = pageOf(seen, ({ id }) => id, request);
    const isFull = request.view === SchemaView.FULL;
    return create(ListSchemasResponseSchema, {
      schemas: items.map((info) =>
        schemaView({
          project,
          info,
          revision: info.latest,
          definition: isFull ? schemas.definition(info.id, info.latest.id) : undefined,
        }),
      ),
      nextPageToken,
    });
  };
}
