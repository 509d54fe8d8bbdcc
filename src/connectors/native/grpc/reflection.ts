import { FlowWriter, type BidiCall, type ServiceHandlers } from '../../kit/grpc-call.js';
import type { ServiceDefinition } from '../../kit/grpc-service.js';
import { status } from '../../kit/grpc-status.js';
import { onOver } from '../operations/calls.js';
import type { Sessions } from '../sessions.js';
import { protoFiles, type ProtoFile } from '../wire/descriptor.js';
import { ReflectionRequest, ReflectionResponse } from '../wire/server-services.js';

/** Both names the service goes by: clients try the one, then the other. */
export const reflectionService: ServiceDefinition = Object.fromEntries(
  ['v1', 'v1alpha'].map((version) => [
    version,
    {
      path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      kind: 'bidi',
      request: ReflectionRequest,
      response: ReflectionResponse,
    },
  ]),
);

/** Server reflection: what services there are and how their messages look, for tools such as grpcurl. */
export function reflectionHandlers(sessions: Sessions): ServiceHandlers {
  const files = protoFiles();
  const serve = (call: BidiCall<ReflectionRequest, ReflectionResponse>): void => {
    const writer = new FlowWriter(call);
    onOver(call, sessions.enter({ drain: () => writer.end() }));
    call.on('data', (request: ReflectionRequest) => {
      writer.write({ validHost: request.host, originalRequest: request, ...answer(files, request) });
    });
    call.on('end', () => writer.end());
  };
  return { v1: serve, v1alpha: serve };
}

function answer(files: readonly ProtoFile[], request: ReflectionRequest): ReflectionResponse {
  const { fileByFilename, fileContainingSymbol, fileContainingExtension, allExtensionNumbersOfType } =
    request;
  if (fileByFilename !== '') {
    return fileResponse(files.find(({ name }) => name === fileByFilename));
  }
  if (fileContainingSymbol !== '') {
    return fileResponse(files.find(({ symbols }) => symbols.has(fileContainingSymbol)));
  }
  // There are no extensions in proto3.
  if (fileContainingExtension !== undefined || allExtensionNumbersOfType !== '')
    return fileResponse(undefined);
  const service = files.flatMap(({ services }) => services.map((name) => ({ name })));
  return { listServicesResponse: { service } };
}

function fileResponse(file: ProtoFile | undefined): ReflectionResponse {
  return file === undefined
    ? { errorResponse: { errorCode: status.NOT_FOUND, errorMessage: 'not found' } }
    : { fileDescriptorResponse: { fileDescriptorProto: file.bytes } };
}
