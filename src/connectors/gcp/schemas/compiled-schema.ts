import { SCHEMA_LIMITS } from './limits.js';
import { Schema_Type } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { compileAvro } from './avro-schema.js';
import { SchemaFault } from './schema-fault.js';
import { compileProtobuf } from './protobuf-schema.js';

/** How message data is encoded. */
export type DataEncoding = 'JSON' | 'BINARY';

/** A definition that was understood. Pure. */
export interface CompiledSchema {
  readonly type: 'AVRO' | 'PROTOCOL_BUFFER';
  /** Throws `SchemaFault` when the data is no value of the schema. */
  check(data: Uint8Array, encoding: DataEncoding): void;
  /** Throws `SchemaFault` when the schema cannot follow `before`, which is of the same type. */
  checkFollows(before: CompiledSchema): void;
}

/** Understands a definition; throws `SchemaFault`. */
export function compileSchema(type: Schema_Type, definition: string): CompiledSchema {
  if (definition === '') throw new SchemaFault('the definition is empty');
  if (Buffer.byteLength(definition) > SCHEMA_LIMITS.definitionBytesMax) {
    throw new SchemaFault(`the definition is larger than ${SCHEMA_LIMITS.definitionBytesMax} bytes`);
  }
  switch (type) {
    case Schema_Type.AVRO:
      return compileAvro(definition);
    case Schema_Type.PROTOCOL_BUFFER:
      return compileProtobuf(definition);
    default:
      throw new SchemaFault('the type must be AVRO or PROTOCOL_BUFFER');
  }
}
