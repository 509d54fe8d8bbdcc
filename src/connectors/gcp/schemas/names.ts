import { parseResourceName, type ResourceName } from '../resource-names.js';

/** What a topic's schema settings say when the schema is gone. */
export const DELETED_SCHEMA = '_deleted-schema_';

export interface SchemaName extends ResourceName {
  /** '' = none was named. */
  readonly revisionId: string;
}

/** Reads `projects/{p}/schemas/{id}`, with `@{revision}` behind it or not; throws `invalid-argument`. */
export function parseSchemaName(name: string): SchemaName {
  const { project, id } = parseResourceName(name, 'schemas');
  const at = id.indexOf('@');
  if (at < 0) return { project, id, revisionId: '' };
  return { project, id: id.slice(0, at), revisionId: id.slice(at + 1) };
}
