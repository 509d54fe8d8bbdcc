import { z } from 'zod';
import { LIVE_LIMITS } from '../../core/live/limits.js';

/** Settings of the native gRPC API: `GRPC_*`. */
export const nativeConfigSchema = z.object({
  enable: z.boolean().default(false).describe('Serve the native gRPC API (service `kubemq.kubemq`).'),
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(50_000)
    .describe('Port of the native gRPC API; 0 takes a free one.'),
  bodyLimit: z
    .number()
    .int()
    .min(1024)
    .max(1024 * 1024 * 1024)
    .default(100 * 1024 * 1024)
    .describe('Largest request in bytes. A larger one is answered RESOURCE_EXHAUSTED.'),
  subBuffSize: subBuffSize(),
});

/** The same for every transport. */
export function subBuffSize() {
  return z
    .number()
    .int()
    .min(1)
    .max(LIVE_LIMITS.waitingMessagesMax)
    .default(LIVE_LIMITS.bufferMessages)
    .describe(
      'Live events and requests that wait for one slow subscriber without condition; more wait only while it takes some.',
    );
}

export type NativeConfig = z.output<typeof nativeConfigSchema>;
