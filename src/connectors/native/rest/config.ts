import { z } from 'zod';
import { subBuffSize } from '../config.js';

/** Settings of the REST and WebSocket API: `REST_*`. */
export const restConfigSchema = z.object({
  enable: z.boolean().default(false).describe('Serve the native REST and WebSocket API.'),
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(9090)
    .describe('Port of the native REST and WebSocket API; 0 takes a free one.'),
  bodyLimit: z
    .number()
    .int()
    .min(1024)
    .max(1024 * 1024 * 1024)
    .default(140 * 1024 * 1024)
    .describe('Largest request or WebSocket message in bytes; message bodies are a third larger in base64.'),
  subBuffSize: subBuffSize(),
  corsAllowOrigins: z
    .string()
    .default('*')
    .describe('Origins whose pages may call the REST API, separated by commas; `*` = all, empty = none.'),
  corsAllowMethods: z.string().default('GET,POST').describe('Methods such pages may use.'),
  corsAllowHeaders: z
    .string()
    .default('')
    .describe('Headers such pages may send; empty = those they ask for.'),
  corsExposeHeaders: z.string().default('').describe('Headers of answers such pages may read.'),
  corsAllowCredentials: z.boolean().default(false).describe('Whether such pages may send credentials.'),
  corsMaxAge: z
    .number()
    .int()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('How long browsers may remember this, in seconds.'),
});

export type RestConfig = z.output<typeof restConfigSchema>;
