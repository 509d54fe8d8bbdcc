import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  type DescriptorProtoSchema,
  type EnumDescriptorProtoSchema,
  type FieldDescriptorProtoSchema,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import protobufjs, { type Enum, type Field, type NamespaceBase, type Type } from 'protobufjs';

/** What a definition says beside its types. */
export interface FileFacts {
  readonly packageName: string;
  readonly imports: readonly string[];
  readonly syntax: 'proto2' | 'proto3';
}

/**
 * The descriptor of a parsed and resolved definition. (The parser's own converter leaves type names unresolved and gives map
 * entries names that clash.)
 */
export function fileDescriptor(types: NamespaceBase, facts: FileFacts): FileDescriptorProto {
  const { packageName, imports, syntax } = facts;
  return create(FileDescriptorProtoSchema, {
    name: 'schema.proto',
    package: packageName,
    dependency: [...imports],
    messageType: types.nestedArray.filter((each) => each instanceof protobufjs.Type).map(messageDescriptor),
    enumType: types.nestedArray.filter((each) => each instanceof protobufjs.Enum).map(enumDescriptor),
    syntax,
  });
}

function messageDescriptor(type: Type): MessageInitShape<typeof DescriptorProtoSchema> {
  const oneofs = type.oneofsArray;
  // Synthetic ones stand behind the others (descriptor.proto), as the parser has them too.
  const ordered = [
    ...oneofs.filter((oneof) => !oneof.isProto3Optional),
    ...oneofs.filter((oneof) => oneof.isProto3Optional),
  ];
  const nested = type.nestedArray;
  return {
    name: type.name,
    field: type.fieldsArray.map((field) =>
      fieldDescriptor(
        field,
        ordered.findIndex((oneof) => oneof === field.partOf),
      ),
    ),
    oneofDecl: ordered.map(({ name }) => ({ name })),
    nestedType: [
      ...nested.filter((each) => each instanceof protobufjs.Type).map(messageDescriptor),
      ...type.fieldsArray.filter((field) => field instanceof protobufjs.MapField).map(mapEntry),
    ],
    enumType: nested.filter((each) => each instanceof protobufjs.Enum).map(enumDescriptor),
  };
}

function enumDescriptor(type: Enum): MessageInitShape<typeof EnumDescriptorProtoSchema> {
  const allowAlias = new Set(Object.values(type.values)).size < Object.keys(type.values).length;
  return {
    name: type.name,
    value: Object.entries(type.values).map(([name, number]) => ({ name, number })),
    ...(allowAlias ? { options: { allowAlias } } : {}),
  };
}

function fieldDescriptor(
  field: Field,
  oneofIndex: number,
): MessageInitShape<typeof FieldDescriptorProtoSchema> {
  const isMap = field instanceof protobufjs.MapField;
  const options: Readonly<Record<string, unknown>> = field.options ?? {};
  const jsonName = options['json_name'];
  const defaultValue = options['default'] as string | number | boolean | undefined;
  const isOptionalProto3 = options['proto3_optional'] === true;
  return {
    name: field.name,
    number: field.id,
    label: labelOf(field, isMap),
    ...(isMap
      ? { type: FieldDescriptorProto_Type.MESSAGE, typeName: `${nameOf(field.parent)}.${entryName(field)}` }
      : typeOf(field)),
    jsonName: typeof jsonName === 'string' ? jsonName : lowerCamel(field.name),
    ...(defaultValue === undefined ? {} : { defaultValue: String(defaultValue) }),
    ...(oneofIndex < 0 ? {} : { oneofIndex }),
    ...(isOptionalProto3 ? { proto3Optional: true } : {}),
    ...(typeof options['packed'] === 'boolean' ? { options: { packed: options['packed'] } } : {}),
  };
}

/** As protoc derives JSON names: `some_name` is `someName`. */
function lowerCamel(name: string): string {
  return name.replace(/_+(.?)/g, (_, next: string) => next.toUpperCase());
}

function labelOf(field: Field, isMap: boolean): FieldDescriptorProto_Label {
  if (isMap || field.repeated) return FieldDescriptorProto_Label.REPEATED;
  return field.required ? FieldDescriptorProto_Label.REQUIRED : FieldDescriptorProto_Label.OPTIONAL;
}

function mapEntry(field: Field): MessageInitShape<typeof DescriptorProtoSchema> {
  const { keyType } = field as Field & { readonly keyType: string };
  const label = FieldDescriptorProto_Label.OPTIONAL;
  return {
    name: entryName(field),
    field: [
      { name: 'key', number: 1, label, type: SCALARS[keyType] ?? FieldDescriptorProto_Type.STRING },
      { name: 'value', number: 2, label, ...typeOf(field) },
    ],
    options: { mapEntry: true },
  };
}

/** As protoc names it: `some_field` has entries of type `SomeFieldEntry`. */
function entryName(field: Field): string {
  const words = field.name.split('_').filter((word) => word !== '');
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Entry`;
}

function typeOf(field: Field): { readonly type: FieldDescriptorProto_Type; readonly typeName?: string } {
  const { resolvedType } = field;
  if (resolvedType === null) return { type: SCALARS[field.type] ?? FieldDescriptorProto_Type.BYTES };
  const typeName = nameOf(resolvedType);
  if (resolvedType instanceof protobufjs.Enum) return { type: FieldDescriptorProto_Type.ENUM, typeName };
  const { MESSAGE, GROUP } = FieldDescriptorProto_Type;
  return { type: field.delimited ? GROUP : MESSAGE, typeName };
}

/** `.package.Outer.Inner` */
function nameOf(place: { readonly fullName: string } | null): string {
  return place?.fullName ?? '';
}

const SCALARS: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  double: FieldDescriptorProto_Type.DOUBLE,
  float: FieldDescriptorProto_Type.FLOAT,
  int64: FieldDescriptorProto_Type.INT64,
  uint64: FieldDescriptorProto_Type.UINT64,
  int32: FieldDescriptorProto_Type.INT32,
  fixed64: FieldDescriptorProto_Type.FIXED64,
  fixed32: FieldDescriptorProto_Type.FIXED32,
  bool: FieldDescriptorProto_Type.BOOL,
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  uint32: FieldDescriptorProto_Type.UINT32,
  sfixed32: FieldDescriptorProto_Type.SFIXED32,
  sfixed64: FieldDescriptorProto_Type.SFIXED64,
  sint32: FieldDescriptorProto_Type.SINT32,
  sint64: FieldDescriptorProto_Type.SINT64,
};
