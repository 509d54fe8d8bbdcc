import { z } from 'zod';
import { declaredSubscriptions, declaredTopics } from './declared/schema.js';
import { parseAllowList } from '../kit/outgoing/allow-list.js';

const count = (fallback: number, what: string) => z.number().int().min(1).default(fallback).describe(what);

/** Settings of the Pub/Sub connector: `CONNECTORS_PUB_SUB_*`. */
export const gcpConfigSchema = z.object({
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8085)
    .describe('Port of the Pub/Sub gRPC API (what `PUBSUB_EMULATOR_HOST` names).'),
  advertisedEndpoint: z
    .string()
    .default('')
    .describe('host:port that clients are told to use; only shown, never sent.'),
  maxMessageBytes: count(10_485_760, 'Largest publish request, and so the largest message.'),
  defaultAckDeadlineSeconds: z
    .number()
    .int()
    .min(10)
    .max(600)
    .default(10)
    .describe('Ack deadline of subscriptions that are created without one.'),
  maxOutstandingMessages: count(1000, 'Most unacknowledged messages on one StreamingPull stream.'),
  maxInflightPerSubscription: count(20_000, 'Most messages of one subscription that are leased at once.'),
  maxConcurrentPolls: count(1024, 'Most Pull calls that wait for a message at once.'),
  pushAllow: z
    .string()
    .default('public,private,loopback')
    .refine((text) => parseAllowList(text) !== undefined, 'not a list of host names, addresses and networks')
    .describe(
      'Hosts that push subscriptions may have called, with commas: `public`, `private`, `loopback`, `*` (all three), names ' +
        '(`hooks.example.com`, `*.example.com`), addresses and networks (`10.1.0.0/16`). Link-local addresses only when named.',
    ),
  pushAllowHttp: z
    .boolean()
    .default(false)
    .describe(
      'Take push endpoints with `http:` on any host, not on this machine alone; Google wants `https:`.',
    ),
  maxSeekReplay: count(
    1_000_000,
    'Most acknowledged messages that one Seek brings back; the newest when there are more.',
  ),
  streamCloseSeconds: count(1800, 'Age at which StreamingPull streams are closed; clients open a new one.'),
  topics: declaredTopics,
  subscriptions: declaredSubscriptions,
});

export type GcpConfig = z.output<typeof gcpConfigSchema>;

/** Bounds that are no settings. */
export const GCP_LIMITS = {
  /** Messages of one Publish request. */
  publishMessagesMax: 1000,
  /** How far above `maxMessageBytes` the transport reads, so that the answer is INVALID_ARGUMENT and not the transport's. */
  receiveMarginBytes: 2 * 1024 * 1024,
  attributesMax: 100,
  attributeKeyBytesMax: 256,
  attributeValueBytesMax: 1024,
  orderingKeyBytesMax: 1024,
  /** A response with several messages; one larger message still passes. Bare gRPC clients take 4 MiB. */
  responseBytes: 3_500_000,
  pullMessagesMax: 1000,
  /** How long an unary Pull waits for a first message. */
  pullWaitMs: 4000,
  /** How long before the client's own deadline an empty answer goes out. */
  pullDeadlineMarginMs: 250,
  ackDeadlineSecondsMin: 10,
  ackDeadlineSecondsMax: 600,
  /** Bodies handed to one stream ahead of the peer's reading. */
  streamWindowBytes: 8 * 1024 * 1024,
  /** Unacknowledged bodies on one stream when the client set no bound. */
  streamOutstandingBytes: 100 * 1024 * 1024,
  pageSizeMax: 1000,
  pageSizeDefault: 100,
  /** Clients that confirm what they receive have done so within this time. */
  confirmMs: 2000,
  /** What is left of the lease of a message that the client of an ended stream cannot have seen. */
  unseenLeaseMs: 1000,
  /** Looks for expired leases of a subscription's streams are at least so far apart. */
  lookMs: 250,
  /** Time between looks for expired snapshots and subscriptions. */
  tidyMs: 60_000,
  filterBytesMax: 256,
} as const;
