import { BrokerError } from '../../../core/errors.js';
import { invalidArgument } from '../errors.js';
import type { PublishStep, ResourceCheck } from '../extensions.js';
import { resourceName } from '../resource-names.js';
import type { SchemaSettings, Topic } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { attributeView } from '../wire/attribute-view.js';
import type { AttributeView, PublishedMessage } from '../wire/publish.js';
import type { CompiledSchema, DataEncoding } from './compiled-schema.js';
import { invalidData } from './faults.js';
import { DELETED_SCHEMA, parseSchemaName } from './names.js';
import type { RevisionRecord, SchemaInfo } from './records.js';
import { SchemaFault } from './schema-fault.js';
import type { SchemaStore } from './schema-store.js';
import { dataEncoding } from './validate-message.js';

/** What delivered messages say of the schema they were checked against. */
const NAME_ATTRIBUTE = 'googclient_schemaname';
const ENCODING_ATTRIBUTE = 'googclient_schemaencoding';
const REVISION_ATTRIBUTE = 'googclient_schemarevisionid';

/** Checks the schema settings of a topic that is about to be stored. What is stored already is not looked at again. */
export function checkTopicSchema(schemas: SchemaStore): ResourceCheck<Topic> {
  return ({ schemaSettings }, before) => {
    if (schemaSettings === undefined) return;
    const { schema, encoding } = schemaSettings;
    // Settings of a deleted schema may stay; they cannot be made.
    if (schema === DELETED_SCHEMA && before?.schemaSettings?.schema === DELETED_SCHEMA) return;
    const { id, revisionId } = parseSchemaName(schema);
    if (revisionId !== '') {
      throw invalidArgument(
        'schema_settings.schema names no revision: use first_revision_id and last_revision_id.',
      );
    }
    const info = schemas.require(id);
    if (dataEncoding(encoding) === undefined) {
      throw invalidArgument('schema_settings.encoding must be JSON or BINARY.');
    }
    revisionRange(info, schemaSettings);
  };
}

/** Checks every message of a Publish, and adds the attributes that say against which revision. All are refused for one. */
export function validatePublished(schemas: SchemaStore): PublishStep {
  return ({ resource }, messages) => {
    const settings = resource.schemaSettings;
    if (settings === undefined) return messages;
    const encoding = dataEncoding(settings.encoding);
    if (settings.schema === DELETED_SCHEMA || encoding === undefined) {
      throw new BrokerError('precondition', 'The schema associated with the topic is deleted.');
    }
    const { project, id } = parseSchemaName(settings.schema);
    const info = schemas.require(id);
    // The newest first: it is what most publishers write.
    const candidates = revisionRange(info, settings).map((revision) => ({
      schema: schemas.compiled(info, revision.id),
      attributes: schemaAttributes({ name: resourceName(project, 'schemas', id), encoding, revision }),
    }));
    return messages.map((message) =>
      message === undefined ? undefined : checked(message, { id, encoding, candidates }),
    );
  };
}

interface Candidate {
  readonly schema: CompiledSchema;
  readonly attributes: readonly AttributeView[];
}

function checked(
  message: PublishedMessage,
  parts: {
    readonly id: string;
    readonly encoding: DataEncoding;
    readonly candidates: readonly Candidate[];
  },
): PublishedMessage {
  const { id, encoding, candidates } = parts;
  let fault: SchemaFault | undefined;
  for (const { schema, attributes } of candidates) {
    try {
      schema.check(message.data, encoding);
      return { ...message, attributes: [...message.attributes.filter(isNotSchemaAttribute), ...attributes] };
    } catch (caught) {
      if (!(caught instanceof SchemaFault)) throw caught;
      // What the newest revision says is what the publisher can use.
      fault ??= caught;
    }
  }
  const schema = candidates[0]?.schema;
  if (schema === undefined)
    throw new BrokerError('precondition', `No revision of schema '${id}' is allowed.`);
  throw invalidData({ schema, encoding, fault: fault?.message ?? '', revisionInfo: id });
}

/** The revisions that the settings allow, the newest first. Bounds may have been deleted since: their places count. */
function revisionRange(info: SchemaInfo, settings: SchemaSettings): readonly RevisionRecord[] {
  const all = info.record.revisions;
  const placeOf = (revisionId: string, field: string): number => {
    const place = all.findIndex((each) => each.id === revisionId);
    if (place < 0) {
      throw invalidArgument(`schema_settings.${field}: schema '${info.id}' has no revision '${revisionId}'.`);
    }
    return place;
  };
  const { firstRevisionId, lastRevisionId } = settings;
  const first = firstRevisionId === '' ? 0 : placeOf(firstRevisionId, 'first_revision_id');
  const last = lastRevisionId === '' ? all.length - 1 : placeOf(lastRevisionId, 'last_revision_id');
  if (first > last) {
    throw invalidArgument('schema_settings.first_revision_id is newer than last_revision_id.');
  }
  return all
    .slice(first, last + 1)
    .filter(({ deleted }) => deleted !== true)
    .reverse();
}

function schemaAttributes(parts: {
  readonly name: string;
  readonly encoding: DataEncoding;
  readonly revision: RevisionRecord;
}): readonly AttributeView[] {
  return [
    attributeView(NAME_ATTRIBUTE, parts.name),
    attributeView(ENCODING_ATTRIBUTE, parts.encoding),
    attributeView(REVISION_ATTRIBUTE, parts.revision.id),
  ];
}

const SCHEMA_PREFIX = Buffer.from('googclient_schema');

function isNotSchemaAttribute({ key }: AttributeView): boolean {
  return Buffer.compare(key.subarray(0, SCHEMA_PREFIX.length), SCHEMA_PREFIX) !== 0;
}
