/** Bounds of schemas. */
export const SCHEMA_LIMITS = {
  definitionBytesMax: 300 * 1024,
  /** Revisions of one schema at once. */
  revisionsMax: 20,
  /** Levels of a definition, and of JSON data. */
  depthMax: 100,
} as const;
