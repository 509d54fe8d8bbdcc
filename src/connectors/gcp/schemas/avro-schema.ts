import { isUtf8 } from 'node:buffer';
import avro, { type Type } from 'avsc';
import { checkAvroBinary } from './avro-binary.js';
import { avroJsonFault } from './avro-json.js';
import { avroNode, type AvroNode } from './avro-node.js';
import type { CompiledSchema, DataEncoding } from './compiled-schema.js';
import { SCHEMA_LIMITS } from './limits.js';
import { faultOf, SchemaFault } from './schema-fault.js';

/** Understands an Avro definition (Avro 1.11); throws `SchemaFault`. */
export function compileAvro(definition: string): CompiledSchema {
  return new AvroSchema(definition);
}

class AvroSchema implements CompiledSchema {
  readonly type = 'AVRO';
  readonly #type: Type;

  constructor(definition: string) {
    let schema: unknown;
    try {
      schema = JSON.parse(definition);
    } catch (error) {
      throw new SchemaFault(`the definition is no JSON: ${faultOf(error)}`);
    }
    checkDepth(schema, 0);
    try {
      this.#type = avro.Type.forSchema(schema as avro.Schema, {
        registry: { long: exactLong() },
        noAnonymousTypes: true,
        omitRecordMethods: true,
        wrapUnions: true,
      });
    } catch (error) {
      throw new SchemaFault(faultOf(error));
    }
    checkItems(avroNode(this.#type), new Set());
  }

  check(data: Uint8Array, encoding: DataEncoding): void {
    if (encoding === 'JSON') this.#checkJson(data);
    else this.#checkBinary(data);
  }

  checkFollows(before: CompiledSchema): void {
    if (!(before instanceof AvroSchema)) throw new SchemaFault('the earlier revision is no Avro schema');
    try {
      // Either must be able to read what the other wrote (Avro's schema resolution).
      this.#type.createResolver(before.#type);
      before.#type.createResolver(this.#type);
    } catch (error) {
      throw new SchemaFault(faultOf(error));
    }
  }

  #checkJson(data: Uint8Array): void {
    if (!isUtf8(data)) throw new SchemaFault('the data is no UTF-8');
    let value: unknown;
    try {
      value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
    } catch (error) {
      throw new SchemaFault(`the data is no JSON: ${faultOf(error)}`);
    }
    const fault = avroJsonFault(avroNode(this.#type), value);
    if (fault !== undefined) throw new SchemaFault(fault);
  }

  #checkBinary(data: Uint8Array): void {
    try {
      checkAvroBinary(avroNode(this.#type), data);
      this.#type.fromBuffer(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    } catch (error) {
      if (error instanceof SchemaFault) throw error;
      throw new SchemaFault(`the data cannot be decoded: ${faultOf(error)}`);
    }
  }
}

/** Longs as bigints: the library's own refuses those that a double cannot hold. */
function exactLong(): Type {
  return avro.types.LongType.__with({
    fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
    toBuffer: (value: bigint) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(value);
      return bytes;
    },
    fromJSON: BigInt,
    toJSON: Number,
    isValid: (value: unknown) => typeof value === 'bigint',
    compare: (a: bigint, b: bigint) => (a === b ? 0 : a < b ? -1 : 1),
  });
}

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > SCHEMA_LIMITS.depthMax) {
    throw new SchemaFault(`the definition is nested deeper than ${SCHEMA_LIMITS.depthMax} levels`);
  }
  for (const part of Object.values(value)) checkDepth(part, depth + 1);
}

/** Items without a byte would let a few bytes of data stand for any number of them. */
function checkItems(type: AvroNode, seen: Set<AvroNode>): void {
  if (seen.has(type)) return;
  seen.add(type);
  switch (type.typeName) {
    case 'array':
      if (isEmpty(type.itemsType, new Set())) throw new SchemaFault('an array needs items that take space');
      checkItems(type.itemsType, seen);
      break;
    case 'map':
      checkItems(type.valuesType, seen);
      break;
    case 'record':
    case 'error':
      for (const field of type.fields) checkItems(field.type, seen);
      break;
    case 'union:wrapped':
      for (const branch of type.types) checkItems(branch, seen);
      break;
  }
}

/** Whether values of the type may take no byte at all. */
function isEmpty(type: AvroNode, seen: Set<AvroNode>): boolean {
  if (type.typeName === 'null') return true;
  if (type.typeName === 'fixed') return type.size === 0;
  if ((type.typeName !== 'record' && type.typeName !== 'error') || seen.has(type)) return false;
  seen.add(type);
  return type.fields.every((field) => isEmpty(field.type, seen));
}
