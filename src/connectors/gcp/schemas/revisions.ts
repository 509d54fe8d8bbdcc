import { create } from '@bufbuild/protobuf';
import { BrokerError } from '../../../core/errors.js';
import type { Change } from '../../../core/registry/types.js';
import { resourceNotFound, StatusError } from '../errors.js';
import { status } from '../../kit/grpc-status.js';
import type { GcpServices } from '../services.js';
import { SchemaSchema, type Schema } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { SCHEMA_LIMITS } from './limits.js';
import {
  DEFINITION_KIND,
  definitionKey,
  SCHEMA_KIND,
  type RevisionRecord,
  type SchemaInfo,
  type SchemaRecord,
} from './records.js';
import type { SchemaStore } from './schema-store.js';

const REVISION_ID_BYTES = 4;

/** What every operation on schemas works with. */
export interface SchemaServices extends GcpServices {
  readonly schemas: SchemaStore;
}

/** A revision made now, with an id that the schema has not used yet. */
export function newRevision(
  { clock, ids }: GcpServices,
  earlier: readonly RevisionRecord[] = [],
): RevisionRecord {
  for (;;) {
    const id = Buffer.from(ids.bytes(REVISION_ID_BYTES)).toString('hex');
    if (earlier.every((revision) => revision.id !== id)) return { id, createdAt: clock.now() };
  }
}

export function putDefinition(schemaId: string, revisionId: string, definition: string): Change {
  return {
    do: 'put',
    kind: DEFINITION_KIND,
    key: definitionKey(schemaId, revisionId),
    value: { definition },
  };
}

export function putSchema(id: string, record: SchemaRecord, expected: number): Change {
  return { do: 'put', kind: SCHEMA_KIND, key: id, value: record, expected };
}

/** Adds a revision behind the others; answers it. */
export async function addRevision(
  services: SchemaServices,
  info: SchemaInfo,
  definition: string,
): Promise<RevisionRecord> {
  const { id, record, revisions, version } = info;
  if (revisions.length >= SCHEMA_LIMITS.revisionsMax) {
    throw new BrokerError('limit', `A schema can have ${SCHEMA_LIMITS.revisionsMax} revisions at most.`);
  }
  const revision = newRevision(services, record.revisions);
  await changeSchema(services, id, [
    putSchema(id, { ...record, revisions: [...record.revisions, revision] }, version),
    putDefinition(id, revision.id, definition),
  ]);
  return revision;
}

/** Applies changes that expect a version of the schema: another one's in between is ABORTED, as clients know it. */
export async function changeSchema(
  services: SchemaServices,
  id: string,
  changes: readonly Change[],
): Promise<void> {
  await services.broker.change(changes).catch((caught: unknown) => {
    if (!(caught instanceof BrokerError)) throw caught;
    if (caught.kind === 'not-found') throw resourceNotFound(id);
    if (caught.kind === 'precondition') {
      throw new StatusError(status.ABORTED, `The schema was changed by another request (resource=${id}).`);
    }
    throw caught;
  });
}

/** The schema of a request that must have one. */
export function requestSchema(schema: Schema | undefined): Schema {
  return schema ?? create(SchemaSchema);
}
