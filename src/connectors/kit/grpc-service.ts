import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescService,
  type MessageShape,
} from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/** A pair of pure functions between a message and its bytes. `decode` throws on bytes that are no such message. */
export interface MessageCodec<T> {
  encode(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

/** A codec of some message or other: what a table of them holds. */
export interface AnyMessageCodec {
  encode(value: never): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

/** The codec of a generated protobuf message. */
export function protobufCodec<S extends DescMessage>(schema: S): MessageCodec<MessageShape<S>> {
  return {
    encode: (value) => toBinary(schema, value),
    decode: (bytes) => fromBinary(schema, bytes),
  };
}

export type CallKind = 'unary' | 'client-stream' | 'server-stream' | 'bidi';

export interface MethodSpec<Request, Response> {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly kind: CallKind;
  readonly request: MessageCodec<Request>;
  readonly response: MessageCodec<Response>;
}

/** One method of a grpc-js service definition, over codecs of one's own. */
export function defineMethod<Request, Response>(
  spec: MethodSpec<Request, Response>,
): MethodDefinition<Request, Response> {
  const { request, response } = spec;
  return {
    path: spec.path,
    requestStream: spec.kind === 'client-stream' || spec.kind === 'bidi',
    responseStream: spec.kind === 'server-stream' || spec.kind === 'bidi',
    requestSerialize: (value) => asBuffer(request.encode(value)),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (value) => asBuffer(response.encode(value)),
    responseDeserialize: (bytes) => response.decode(bytes),
  };
}

/**
 * A grpc-js service definition from a generated service: methods under their local names (`sendEvent`). `codecs` replaces
 * the generated codec of single message types, by full type name, for hot ones.
 */
export function defineService(
  service: DescService,
  codecs: Readonly<Record<string, AnyMessageCodec>> = {},
): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      defineMethod<unknown, unknown>({
        path: `/${service.typeName}/${method.name}`,
        kind: KINDS[method.methodKind],
        request: codecs[method.input.typeName] ?? protobufCodec(method.input),
        response: codecs[method.output.typeName] ?? protobufCodec(method.output),
      }),
    ]),
  );
}

const KINDS = {
  unary: 'unary',
  client_streaming: 'client-stream',
  server_streaming: 'server-stream',
  bidi_streaming: 'bidi',
} as const;

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
