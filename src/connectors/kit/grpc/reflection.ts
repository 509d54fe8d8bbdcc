import { create, toBinary, type DescFile, type MessageInitShape } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FlowWriter } from '../grpc-call.js';
import { protobufCodec, type ServiceDefinition } from '../grpc-service.js';
import { status, type StatusCode } from '../grpc-status.js';
import {
  file_grpc_reflection_v1_reflection,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from './gen/grpc/reflection/v1/reflection_pb.js';
import type { BidiCall, ServiceHandlers } from './handlers.js';

/** A .proto file as reflection tells of it. */
export interface ReflectedFile {
  readonly name: string;
  /** Its FileDescriptorProto. */
  readonly bytes: Uint8Array;
  /** Full names of everything it defines. */
  readonly symbols: ReadonlySet<string>;
  /** Full names of its services. */
  readonly services: readonly string[];
}

/** Both names the service goes by: clients try the one, then the other. Their messages are the same. */
export const reflectionService: ServiceDefinition = Object.fromEntries(
  ['v1', 'v1alpha'].map((version) => [
    version,
    {
      path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      kind: 'bidi',
      request: protobufCodec(ServerReflectionRequestSchema),
      response: protobufCodec(ServerReflectionResponseSchema),
    },
  ]),
);

/**
 * Server reflection (github.com/grpc/grpc, doc/server-reflection.md): what services there are and how their messages look, for
 * tools such as grpcurl. `enter` is called for each stream with what ends it at a shutdown; what it returns is called when
 * the stream is over.
 */
export function reflectionHandlers(
  files: readonly ReflectedFile[],
  enter: (drain: () => void) => () => void,
): ServiceHandlers {
  const serve = (call: BidiCall<ServerReflectionRequest, ServerReflectionResponse>): void => {
    const writer = new FlowWriter(call);
    const leave = once(enter(() => writer.end()));
    call.on('cancelled', leave);
    call.on('close', leave);
    call.on('data', (request) => {
      const messageResponse = answer(files, request);
      const validHost = request.host;
      writer.write(
        create(ServerReflectionResponseSchema, { validHost, originalRequest: request, messageResponse }),
      );
    });
    call.on('end', () => writer.end());
  };
  return { v1: serve, v1alpha: serve };
}

/** The files of generated services, with all that they import, and of reflection itself. */
export function reflectedFiles(files: readonly DescFile[]): readonly ReflectedFile[] {
  const all = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (all.has(file)) return;
    all.add(file);
    for (const imported of file.dependencies) add(imported);
  };
  for (const file of [...files, file_grpc_reflection_v1_reflection]) add(file);
  return [...all].map((file) => ({
    name: file.proto.name,
    bytes: toBinary(FileDescriptorProtoSchema, file.proto),
    symbols: symbolsOf(file),
    services: file.services.map(({ typeName }) => typeName),
  }));
}

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

function answer(files: readonly ReflectedFile[], { messageRequest: asked }: ServerReflectionRequest): Answer {
  switch (asked.case) {
    case 'fileByFilename':
      return fileAnswer(files.find(({ name }) => name === asked.value));
    case 'fileContainingSymbol':
      return fileAnswer(files.find(({ symbols }) => symbols.has(asked.value)));
    case 'allExtensionNumbersOfType':
      // None of the files extends anything.
      return files.some(({ symbols }) => symbols.has(asked.value))
        ? { case: 'allExtensionNumbersResponse', value: { baseTypeName: asked.value } }
        : NOT_FOUND;
    case 'fileContainingExtension':
      return NOT_FOUND;
    case 'listServices': {
      const service = files.flatMap(({ services }) => services.map((name) => ({ name })));
      return { case: 'listServicesResponse', value: { service } };
    }
    case undefined:
      return failure(status.INVALID_ARGUMENT, 'the request asks nothing');
  }
}

function fileAnswer(file: ReflectedFile | undefined): Answer {
  if (file === undefined) return NOT_FOUND;
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto: [file.bytes] } };
}

function failure(errorCode: StatusCode, errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode, errorMessage } };
}

const NOT_FOUND = failure(status.NOT_FOUND, 'not found');

function symbolsOf(file: DescFile): ReadonlySet<string> {
  const symbols = new Set<string>();
  for (const type of nestedTypes(file)) {
    symbols.add(type.typeName);
    const scope = type.typeName;
    if (type.kind === 'message') for (const { name } of type.fields) symbols.add(`${scope}.${name}`);
    if (type.kind === 'message') for (const { name } of type.oneofs) symbols.add(`${scope}.${name}`);
    if (type.kind === 'service') for (const { name } of type.methods) symbols.add(`${scope}.${name}`);
    // Values of an enum are named beside it, as in C++.
    const beside = scope.slice(0, scope.lastIndexOf('.') + 1);
    if (type.kind === 'enum') for (const { name } of type.values) symbols.add(`${beside}${name}`);
  }
  return symbols;
}

function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (!done) run();
    done = true;
  };
}
