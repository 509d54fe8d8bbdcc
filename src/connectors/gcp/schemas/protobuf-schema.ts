import { isUtf8 } from 'node:buffer';
import {
  createFileRegistry,
  fromBinary,
  fromJsonString,
  ScalarType,
  toBinary,
  type DescField,
  type DescFile,
  type DescMessage,
} from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from '@bufbuild/protobuf/wkt';
import protobufjs from 'protobufjs';
import type { CompiledSchema, DataEncoding } from './compiled-schema.js';
import { fileDescriptor } from './protobuf-descriptor.js';
import { faultOf, SchemaFault } from './schema-fault.js';

/** Definitions that every definition may import. */
const WELL_KNOWN: ReadonlyMap<string, DescFile> = new Map(
  [
    file_google_protobuf_any,
    file_google_protobuf_duration,
    file_google_protobuf_empty,
    file_google_protobuf_field_mask,
    file_google_protobuf_struct,
    file_google_protobuf_timestamp,
    file_google_protobuf_wrappers,
  ].map((file) => [`${file.name}.proto`, file]),
);

/** Understands a Protocol Buffers definition of one message (proto2 or proto3); throws `SchemaFault`. */
export function compileProtobuf(definition: string): CompiledSchema {
  return new ProtobufSchema(definition);
}

class ProtobufSchema implements CompiledSchema {
  readonly type = 'PROTOCOL_BUFFER';
  readonly #message: DescMessage;

  constructor(definition: string) {
    try {
      this.#message = messageOf(definition);
    } catch (error) {
      throw error instanceof SchemaFault ? error : new SchemaFault(faultOf(error));
    }
  }

  check(data: Uint8Array, encoding: DataEncoding): void {
    try {
      if (encoding === 'JSON' && !isUtf8(data)) throw new SchemaFault('the data is no UTF-8');
      const value =
        encoding === 'JSON'
          ? fromJsonString(
              this.#message,
              Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString(),
            )
          : fromBinary(this.#message, data);
      // Decoding does not mind missing required fields; encoding does.
      toBinary(this.#message, value);
    } catch (error) {
      throw new SchemaFault(faultOf(error));
    }
  }

  checkFollows(before: CompiledSchema): void {
    if (!(before instanceof ProtobufSchema)) {
      throw new SchemaFault('the earlier revision is no Protocol Buffers schema');
    }
    checkMessageFollows(before.#message, this.#message, new Set());
  }
}

function messageOf(definition: string): DescMessage {
  const syntax = syntaxOf(definition);
  const parsed = protobufjs.parse(definition, { keepCase: true });
  const imports = parsed.imports ?? [];
  const { root } = parsed;
  for (const path of [...imports, ...(parsed.weakImports ?? [])]) {
    const known = WELL_KNOWN.has(path) ? protobufjs.common.get(path) : null;
    if (known?.nested === undefined) throw new SchemaFault(`'${path}' cannot be imported`);
    root.addJSON(known.nested);
  }
  root.resolveAll();
  const packageName = parsed.package ?? '';
  const own = packageName === '' ? root : root.lookup(packageName);
  if (!(own instanceof protobufjs.Namespace)) throw new SchemaFault('the definition has no message');
  const file = fileDescriptor(own, { packageName, imports, syntax });
  const [message, ...others] = file.messageType;
  if (message === undefined) throw new SchemaFault('the definition has no message');
  if (others.length > 0) throw new SchemaFault('the definition has more than one top-level message');
  const registry = createFileRegistry(file, (name) => WELL_KNOWN.get(name));
  const described = registry.getMessage(packageName === '' ? message.name : `${packageName}.${message.name}`);
  if (described === undefined) throw new SchemaFault('the definition has no message');
  return described;
}

const BEHIND_COMMENTS = /^(?:\s+|\/\/[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/;

/** The first statement says it; without one it is proto2. */
function syntaxOf(definition: string): 'proto2' | 'proto3' {
  const start = definition.slice(BEHIND_COMMENTS.exec(definition)?.[0].length ?? 0);
  if (/^edition\b/.test(start)) throw new SchemaFault('editions are not supported: use proto2 or proto3');
  return /^syntax\s*=\s*["']proto3["']/.test(start) ? 'proto3' : 'proto2';
}

/** A revision may add and remove optional fields, and change nothing else. */
function checkMessageFollows(before: DescMessage, after: DescMessage, seen: Set<DescMessage>): void {
  if (seen.has(after)) return;
  seen.add(after);
  const old = new Map(before.fields.map((field) => [field.number, field]));
  for (const field of after.fields) {
    const earlier = old.get(field.number);
    old.delete(field.number);
    if (earlier === undefined) checkOptional(field, 'added');
    else checkFieldFollows(earlier, field, seen);
  }
  for (const field of old.values()) checkOptional(field, 'removed');
}

function checkOptional(field: DescField, change: string): void {
  const isOptional = field.fieldKind !== 'list' && field.fieldKind !== 'map' && !isRequired(field);
  if (!isOptional) {
    throw new SchemaFault(
      `field '${field.name}' of ${field.parent.typeName} is not optional: it cannot be ${change}`,
    );
  }
}

function checkFieldFollows(before: DescField, after: DescField, seen: Set<DescMessage>): void {
  if (before.name !== after.name || shapeOf(before) !== shapeOf(after)) {
    throw new SchemaFault(`field ${after.number} of ${after.parent.typeName} cannot be changed`);
  }
  if (before.message !== undefined && after.message !== undefined) {
    checkMessageFollows(before.message, after.message, seen);
  }
}

/** Everything of a field that must stay. */
function shapeOf(field: DescField): string {
  const scalar = field.scalar === undefined ? '' : ScalarType[field.scalar];
  const key = field.fieldKind === 'map' ? ScalarType[field.mapKey] : '';
  return [
    field.fieldKind === 'list' ? `list of ${field.listKind}` : field.fieldKind,
    isRequired(field) ? 'required' : '',
    key,
    scalar,
    field.message?.typeName ?? '',
    field.enum?.typeName ?? '',
  ].join(' ');
}

function isRequired(field: DescField): boolean {
  return field.proto.label === FieldDescriptorProto_Label.REQUIRED;
}
