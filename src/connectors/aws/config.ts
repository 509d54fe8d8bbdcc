import { z } from 'zod';
import { declaredQueues, declaredTopics } from './declared/schema.js';
import { parseAllowList } from '../kit/outgoing/allow-list.js';

/** Settings of the AWS connector: `CONNECTORS_AWS_…`. */
export const awsConfigSchema = z.object({
  enable: z.boolean().default(false).describe('Serve SQS and SNS.'),
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(4566)
    .describe('Port of the one endpoint; 0 takes a free one.'),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/)
    .default('kubemq')
    .describe('Region in ARNs. Not enforced.'),
  accountId: z
    .string()
    .regex(/^\d{12}$/)
    .default('000000000000')
    .describe('Account in ARNs and queue URLs.'),
  advertisedUrl: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .default('')
    .describe('Scheme, host and port of queue URLs. Empty: those the client used.'),
  credentials: z
    .array(
      z.strictObject({
        accessKeyId: z
          .string()
          .regex(/^[\x21-\x2b\x2d\x2e\x30-\x3c\x3e-\x7e]{1,128}$/, 'accessKeyId is not legal'),
        secretAccessKey: z.string().min(1, 'secretAccessKey is empty'),
      }),
    )
    .readonly()
    .default([])
    .describe(
      'Access keys that may sign requests. As text: `accessKeyId=secretAccessKey,…`. Empty: signatures are not ' +
        'checked and everybody may come in.',
    )
    .meta({ secret: true }),
  webhookAllow: z
    .string()
    .default('public,private,loopback')
    .refine((text) => parseAllowList(text) !== undefined, 'not a list of host names, addresses and networks')
    .describe(
      'Hosts that http and https subscriptions may have called, with commas: `public`, `private`, `loopback`, `*` (all ' +
        'three), names (`hooks.example.com`, `*.example.com`), addresses and networks (`10.1.0.0/16`). Link-local addresses ' +
        'only when named.',
    ),
  signQueueDeliveries: z
    .boolean()
    .default(false)
    .describe(
      'Sign the notifications that go to queues, too. It takes a millisecond each; those for http and https are always signed.',
    ),
  recreateWaitSeconds: z
    .number()
    .int()
    .min(0)
    .max(3_600)
    .default(0)
    .describe('How long the name of a deleted queue cannot be used again; 60 on AWS, 0 here: free at once.'),
  inFlightMax: z
    .number()
    .int()
    .min(1)
    .default(120_000)
    .describe('Messages of one queue that may be in flight; receives give no more then.'),
  connectionsMax: z.number().int().min(1).default(20_000).describe('Open connections.'),
  bodyBytesMax: z
    .number()
    .int()
    .min(1_048_576)
    .default(8 * 1024 * 1024)
    .describe('Largest request. A full message may take six bytes of JSON for each of its own.'),
  queues: declaredQueues,
  topics: declaredTopics,
});

export type AwsConfig = z.infer<typeof awsConfigSchema>;
