import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { Change } from '../../../core/registry/types.js';
import { TOPIC_KIND, topicInfo, topicRecord, type TopicInfo } from '../registry/records.js';
import type { Operation } from '../unary.js';
import type { DeleteSchemaRequest } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { DELETED_SCHEMA, parseSchemaName } from './names.js';
import { DEFINITION_KIND, definitionKey, SCHEMA_KIND, type SchemaInfo } from './records.js';
import { changeSchema, type SchemaServices } from './revisions.js';

/** Deletes a schema and its revisions. Topics that use it say `_deleted-schema_` from then on and take no messages. */
export function deleteSchema(services: SchemaServices): Operation<DeleteSchemaRequest, Empty> {
  const { broker, schemas } = services;
  return async (request) => {
    const { id } = parseSchemaName(request.name);
    const info = schemas.require(id);
    const topics = broker.registry.list(TOPIC_KIND).map(topicInfo);
    await changeSchema(services, id, [
      ...removals(info),
      ...topics.filter((topic) => usesSchema(topic, id)).map(withoutSchema),
    ]);
    return create(EmptySchema);
  };
}

function removals({ id, version, revisions }: SchemaInfo): readonly Change[] {
  return [
    { do: 'remove', kind: SCHEMA_KIND, key: id, expected: version },
    ...revisions.map((revision): Change => ({
      do: 'remove',
      kind: DEFINITION_KIND,
      key: definitionKey(id, revision.id),
    })),
  ];
}

function usesSchema({ resource }: TopicInfo, schemaId: string): boolean {
  const schema = resource.schemaSettings?.schema ?? DELETED_SCHEMA;
  return schema !== DELETED_SCHEMA && parseSchemaName(schema).id === schemaId;
}

function withoutSchema({ id, version, resource, record }: TopicInfo): Change {
  const { schemaSettings } = resource;
  const value = topicRecord(
    {
      ...resource,
      ...(schemaSettings === undefined
        ? {}
        : { schemaSettings: { ...schemaSettings, schema: DELETED_SCHEMA } }),
    },
    record.createdAt,
  );
  return { do: 'put', kind: TOPIC_KIND, key: id, value, expected: version };
}
