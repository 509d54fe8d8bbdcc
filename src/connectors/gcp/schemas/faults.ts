import { invalidArgument } from '../errors.js';
import { status } from '../../kit/grpc-status.js';
import { statusWithInfo } from '../status-details.js';
import type { Schema_Type } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { compileSchema, type CompiledSchema, type DataEncoding } from './compiled-schema.js';
import { SchemaFault } from './schema-fault.js';

/** Understands the definition of a request; throws `invalid-argument`. */
export function compileRequested(schema: {
  readonly type: Schema_Type;
  readonly definition: string;
}): CompiledSchema {
  try {
    return compileSchema(schema.type, schema.definition);
  } catch (caught) {
    if (!(caught instanceof SchemaFault)) throw caught;
    throw invalidArgument(`Invalid schema definition: ${caught.message}.`);
  }
}

const FORMATS = { AVRO: 'AVRO', PROTOCOL_BUFFER: 'PROTO' } as const;

/** How data that is none of its schema is refused, with Google's sentence and reason. */
export function invalidData(parts: {
  readonly schema: CompiledSchema;
  readonly encoding: DataEncoding;
  readonly fault: string;
  /** '' = the schema is no stored one. */
  readonly revisionInfo: string;
}): Error {
  const { schema, encoding, fault, revisionInfo } = parts;
  return statusWithInfo(
    status.INVALID_ARGUMENT,
    'Invalid data in message: Message failed schema validation.',
    [
      {
        reason: `INVALID_${encoding}_${FORMATS[schema.type]}_MESSAGE`,
        metadata: { message: `Message failed schema validation: ${fault}.`, revisionInfo },
      },
    ],
  );
}
