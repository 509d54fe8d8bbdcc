import {
  bytes,
  int32,
  message,
  nested,
  repeated,
  string,
  type Decoded,
  type Encodable,
  type MessageType,
} from './protobuf.js';

/** Messages of the services that every gRPC server may have: health and reflection. */

type DecodedOf<T> = T extends MessageType<infer F> ? Decoded<F> : never;
type EncodableOf<T> = T extends MessageType<infer F> ? Encodable<F> : never;

export const ServingStatus = { unknown: 0, serving: 1, notServing: 2, serviceUnknown: 3 } as const;

export const HealthCheckRequest = message({ service: string(1) });
export type HealthCheckRequest = DecodedOf<typeof HealthCheckRequest>;
export const HealthCheckResponse = message({ status: int32(1) });
export type HealthCheckResponse = EncodableOf<typeof HealthCheckResponse>;

const ExtensionRequest = message({ containingType: string(1), extensionNumber: int32(2) });

/** Of the questions one is asked; all empty means the list of services, whose argument is nothing. */
export const ReflectionRequest = message({
  host: string(1),
  fileByFilename: string(3),
  fileContainingSymbol: string(4),
  fileContainingExtension: nested(5, ExtensionRequest),
  allExtensionNumbersOfType: string(6),
  listServices: string(7),
});
export type ReflectionRequest = DecodedOf<typeof ReflectionRequest>;

export const ReflectionResponse = message({
  validHost: string(1),
  originalRequest: nested(2, ReflectionRequest),
  // A repeated field of which one file is given.
  fileDescriptorResponse: nested(4, message({ fileDescriptorProto: bytes(1) })),
  listServicesResponse: nested(6, message({ service: repeated(1, message({ name: string(1) })) })),
  errorResponse: nested(7, message({ errorCode: int32(1), errorMessage: string(2) })),
});
export type ReflectionResponse = EncodableOf<typeof ReflectionResponse>;
