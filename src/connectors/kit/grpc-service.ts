import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescService,
  type MessageShape,
} from '@bufbuild/protobuf';

/** A pair of pure functions between a message and its bytes. `decode` throws on bytes that are no such message. */
export interface MessageCodec<T> {
  encode(value: T): Uint8Array;
  /** Likewise, but what it gives is good only until the next message is encoded. For who writes it at once. */
  lend?(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

/** A codec of some message or other: what a table of them holds. */
export interface AnyMessageCodec {
  encode(value: never): Uint8Array;
  lend?(value: never): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

/** The codec of a generated protobuf message. */
export function protobufCodec<S extends DescMessage>(schema: S): MessageCodec<MessageShape<S>> {
  return {
    encode: (value) => toBinary(schema, value),
    decode: (bytes) => fromBinary(schema, bytes),
  };
}

/** A stream of requests with one answer is served as `bidi`: the handler writes once. */
export type CallKind = 'unary' | 'server-stream' | 'bidi';

/** One method of a service. */
export interface MethodDefinition {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly kind: CallKind;
  readonly request: AnyMessageCodec;
  readonly response: AnyMessageCodec;
}

/** Methods by the names of their handlers. */
export type ServiceDefinition = Readonly<Record<string, MethodDefinition>>;

/**
 * A service definition from a generated service: methods under their local names (`sendEvent`). `codecs` replaces
 * the generated codec of single message types, by full type name, for hot ones.
 */
export function defineService(
  service: DescService,
  codecs: Readonly<Record<string, AnyMessageCodec>> = {},
): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        path: `/${service.typeName}/${method.name}`,
        kind: KINDS[method.methodKind],
        request: codecs[method.input.typeName] ?? protobufCodec(method.input),
        response: codecs[method.output.typeName] ?? protobufCodec(method.output),
      },
    ]),
  );
}

const KINDS = {
  unary: 'unary',
  client_streaming: 'bidi',
  server_streaming: 'server-stream',
  bidi_streaming: 'bidi',
} as const;
