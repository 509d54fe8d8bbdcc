import type { RegistryEntry } from '../../../core/registry/types.js';

/** Registry kinds: a schema by its id, a definition by `{id}@{revision id}`. */
export const SCHEMA_KIND = 'gcp.schema';
export const DEFINITION_KIND = 'gcp.schema-definition';

export interface RevisionRecord {
  readonly id: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Its definition is gone; its place stays, because topics may name it as a bound. */
  readonly deleted?: boolean;
}

/** A schema as the registry keeps it; its definitions are entries of their own. */
export interface SchemaRecord {
  readonly type: 'AVRO' | 'PROTOCOL_BUFFER';
  /** Oldest first. */
  readonly revisions: readonly RevisionRecord[];
}

export interface DefinitionRecord {
  readonly definition: string;
}

/** A schema and what is read from its record. */
export interface SchemaInfo {
  readonly id: string;
  readonly version: number;
  readonly record: SchemaRecord;
  /** Revisions that have a definition, oldest first; never empty. */
  readonly revisions: readonly RevisionRecord[];
  readonly latest: RevisionRecord;
}

export function schemaInfo(entry: RegistryEntry): SchemaInfo {
  const record = entry.value as SchemaRecord;
  const revisions = record.revisions.filter(({ deleted }) => deleted !== true);
  const latest = revisions.at(-1);
  if (latest === undefined) throw new Error(`schema '${entry.key}' has no revision`);
  return { id: entry.key, version: entry.version, record, revisions, latest };
}

export function definitionKey(schemaId: string, revisionId: string): string {
  return `${schemaId}@${revisionId}`;
}
