import { DESCRIPTORS } from './descriptors.js';
import { count, int32, message, repeated, string, type Decoded, type MessageType } from './protobuf.js';

type DecodedOf<T> = T extends MessageType<infer F> ? Decoded<F> : never;

// What is read of `google/protobuf/descriptor.proto`.
const FieldDescriptor = message({
  name: string(1),
  number: int32(3),
  label: int32(4),
  type: int32(5),
  typeName: string(6),
});
const Named = message({ name: string(1), number: count(3) });
const EnumDescriptor = message({ name: string(1), value: repeated(2, Named) });
const MessageDescriptor = message({
  name: string(1),
  field: repeated(2, FieldDescriptor),
  enumType: repeated(4, EnumDescriptor),
});
const ServiceDescriptor = message({ name: string(1), method: repeated(2, Named) });
const FileDescriptor = message({
  name: string(1),
  package: string(2),
  messageType: repeated(4, MessageDescriptor),
  enumType: repeated(5, EnumDescriptor),
  service: repeated(6, ServiceDescriptor),
});

export type FieldDescription = DecodedOf<typeof FieldDescriptor>;

/** A .proto file as its descriptor tells it. */
export interface ProtoFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Full names of everything it defines. */
  readonly symbols: ReadonlySet<string>;
  /** Full names of its services. */
  readonly services: readonly string[];
  /** Fields by full message name. */
  readonly fields: ReadonlyMap<string, readonly FieldDescription[]>;
}

/** The .proto files of the native API. */
export function protoFiles(): readonly ProtoFile[] {
  return Object.values(DESCRIPTORS).map((text) => read(Buffer.from(text, 'base64')));
}

function read(bytes: Buffer): ProtoFile {
  const file = FileDescriptor.decode(bytes);
  const symbols = new Set<string>();
  const fields = new Map<string, readonly FieldDescription[]>();
  for (const type of file.messageType) {
    const full = `${file.package}.${type.name}`;
    symbols.add(full);
    fields.set(full, type.field);
    for (const field of type.field) symbols.add(`${full}.${field.name}`);
    addEnums(symbols, full, type.enumType);
  }
  addEnums(symbols, file.package, file.enumType);
  for (const service of file.service) {
    const full = `${file.package}.${service.name}`;
    symbols.add(full);
    for (const method of service.method) symbols.add(`${full}.${method.name}`);
  }
  const services = file.service.map(({ name }) => `${file.package}.${name}`);
  return { name: file.name, bytes, symbols, services, fields };
}

/** Values of an enum are named beside it, as in C++. */
function addEnums(
  symbols: Set<string>,
  scope: string,
  enums: readonly DecodedOf<typeof EnumDescriptor>[],
): void {
  for (const { name, value } of enums) {
    symbols.add(`${scope}.${name}`);
    for (const each of value) symbols.add(`${scope}.${each.name}`);
  }
}
