import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { resourceName } from '../resource-names.js';
import { Schema_Type, SchemaSchema, type Schema } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import type { RevisionRecord, SchemaInfo } from './records.js';

/** A revision as the API shows it, under the project that was asked for; without a definition it is the basic view. */
export function schemaView(parts: {
  readonly project: string;
  readonly info: Pick<SchemaInfo, 'id' | 'record'>;
  readonly revision: RevisionRecord;
  readonly definition?: string | undefined;
}): Schema {
  const { project, info, revision, definition } = parts;
  return create(SchemaSchema, {
    name: resourceName(project, 'schemas', info.id),
    type: Schema_Type[info.record.type],
    definition: definition ?? '',
    revisionId: revision.id,
    revisionCreateTime: timestampFromMs(revision.createdAt),
  });
}
