import { int32, message, string, type Decoded, type Encodable, type MessageType } from './protobuf.js';

/** Messages of the health service, which every gRPC server may have. */

type DecodedOf<T> = T extends MessageType<infer F> ? Decoded<F> : never;
type EncodableOf<T> = T extends MessageType<infer F> ? Encodable<F> : never;

export const ServingStatus = { unknown: 0, serving: 1, notServing: 2, serviceUnknown: 3 } as const;

export const HealthCheckRequest = message({ service: string(1) });
export type HealthCheckRequest = DecodedOf<typeof HealthCheckRequest>;
export const HealthCheckResponse = message({ status: int32(1) });
export type HealthCheckResponse = EncodableOf<typeof HealthCheckResponse>;
