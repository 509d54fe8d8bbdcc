import type { Broker } from '../../../core/broker-api.js';
import type { Change } from '../../../core/registry/types.js';
import { resourceNotFound } from '../errors.js';
import { Schema_Type } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { compileSchema, type CompiledSchema } from './compiled-schema.js';
import type { SchemaName } from './names.js';
import {
  DEFINITION_KIND,
  definitionKey,
  SCHEMA_KIND,
  schemaInfo,
  type DefinitionRecord,
  type RevisionRecord,
  type SchemaInfo,
} from './records.js';

/** Definitions that are kept compiled; the one used longest ago makes room. */
const COMPILED_MAX = 256;

/** The schemas of the registry, and their definitions, compiled when first used. */
export class SchemaStore {
  readonly #broker: Broker;
  /** By definition key, the one used last at the end. A definition never changes under its key. */
  readonly #compiled = new Map<string, CompiledSchema>();

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  get count(): number {
    return this.#broker.registry.list(SCHEMA_KIND).length;
  }

  get(id: string): SchemaInfo | undefined {
    const entry = this.#broker.registry.get(SCHEMA_KIND, id);
    return entry === undefined ? undefined : schemaInfo(entry);
  }

  /** Throws `not-found`. */
  require(id: string): SchemaInfo {
    const info = this.get(id);
    if (info === undefined) throw resourceNotFound(id);
    return info;
  }

  /** All schemas by id. */
  list(): readonly SchemaInfo[] {
    return this.#broker.registry.list(SCHEMA_KIND).map(schemaInfo);
  }

  /** The revision a name stands for, the latest when it names none; throws `not-found`. */
  requireRevision({ id, revisionId }: SchemaName): {
    readonly info: SchemaInfo;
    readonly revision: RevisionRecord;
  } {
    const info = this.require(id);
    const revision = revisionId === '' ? info.latest : info.revisions.find((each) => each.id === revisionId);
    if (revision === undefined) throw resourceNotFound(definitionKey(id, revisionId));
    return { info, revision };
  }

  definition(schemaId: string, revisionId: string): string {
    const key = definitionKey(schemaId, revisionId);
    const entry = this.#broker.registry.get<DefinitionRecord>(DEFINITION_KIND, key);
    if (entry === undefined) throw resourceNotFound(key);
    return entry.value.definition;
  }

  compiled(info: SchemaInfo, revisionId: string): CompiledSchema {
    const key = definitionKey(info.id, revisionId);
    const known = this.#compiled.get(key);
    this.#compiled.delete(key);
    const schema =
      known ?? compileSchema(Schema_Type[info.record.type], this.definition(info.id, revisionId));
    this.#compiled.set(key, schema);
    for (const oldest of this.#compiled.keys()) {
      if (this.#compiled.size <= COMPILED_MAX) break;
      this.#compiled.delete(oldest);
    }
    return schema;
  }

  /** Applies the changes of an operation. */
  async change(changes: readonly Change[]): Promise<void> {
    await this.#broker.change(changes);
  }
}
