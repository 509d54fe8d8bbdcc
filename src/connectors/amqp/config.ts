import { z } from 'zod';
import { declaredBindings, declaredExchanges, declaredQueues } from './declared/schema.js';

/** Settings of the AMQP 0-9-1 connector: `CONNECTORS_AMQP_…`. */
export const amqpConfigSchema = z.object({
  enable: z.boolean().default(false).describe('Serve AMQP 0-9-1.'),
  port: z.number().int().min(0).max(65_535).default(5672).describe('Port; 0 takes a free one.'),
  tlsPort: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(5671)
    .describe(
      'Port for TLS, when the broker has a certificate (`SECURITY_…`). `CONNECTORS_AMQP_PORT` is then closed unless ' +
        '`SECURITY_ALLOW_PLAIN` is set.',
    ),
  maxFrameSize: z
    .number()
    .int()
    .min(8192)
    .max(1_048_576)
    .default(131_072)
    .describe('Largest frame, in bytes, offered to clients.'),
  channelMax: z.number().int().min(1).max(65_535).default(2047).describe('Open channels of one connection.'),
  maxConnections: z.number().int().min(0).default(1000).describe('Open connections; 0 = no bound.'),
  heartbeatSeconds: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(60)
    .describe('Heartbeat offered to clients; what they answer is used.'),
  maxMessageSize: z
    .number()
    .int()
    .min(1)
    .max(536_870_912)
    .default(104_857_600)
    .describe('Largest message body, in bytes.'),
  defaultVhost: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .default('default')
    .describe('Segment of the channel name that stands for the virtual host "/".'),
  maxUnacked: z
    .number()
    .int()
    .min(1)
    .max(10_000_000)
    .default(100_000)
    .describe('Unacknowledged messages of one consumer that set no prefetch.'),
  strictNames: z
    .boolean()
    .default(true)
    .describe(
      'Refuse queue names with ; : * > or white space. False: percent-encode them in the channel name.',
    ),
  maxPendingBytes: z
    .number()
    .int()
    .min(65_536)
    .default(16_777_216)
    .describe('Published bytes of one connection that wait for the store before it is read no further.'),
  users: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[^\s,=]{1,255}$/, 'name is not legal'),
        password: z.string().min(1, 'password is empty'),
      }),
    )
    .readonly()
    .default([])
    .describe(
      'Users that may log in and do everything. As text: `name=password,…`. Empty, and none made by the management ' +
        'API: passwords are not checked and everybody may come in.',
    )
    .meta({ secret: true }),
  consumerTimeoutMs: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe(
      'Time a consumer has to acknowledge a delivery before it is given back; 0 = no bound. `x-consumer-timeout` of a ' +
        'queue or consumer wins.',
    ),
  managementEnable: z
    .boolean()
    .default(false)
    .describe("Serve RabbitMQ's management HTTP API: rabbitmqadmin, autoscalers, definitions files."),
  managementPort: z.number().int().min(0).max(65_535).default(15_672).describe('Port of the management API.'),
  webSocketEnable: z.boolean().default(false).describe('Serve AMQP over WebSocket, for browsers.'),
  webSocketPort: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(15_678)
    .describe('Port for AMQP over WebSocket (subprotocol `amqp`).'),
  serverVersion: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/)
    .default('3.13.7')
    .describe('RabbitMQ version in the greeting; clients choose features by it.'),
  defaultQueueType: z
    .enum(['classic', 'quorum', 'stream'])
    .default('classic')
    .describe(
      'What durable queues become that are declared without `x-queue-type`, in virtual hosts that have no default queue type of ' +
        'their own.',
    ),
  exchanges: declaredExchanges,
  queues: declaredQueues,
  bindings: declaredBindings,
});

export type AmqpConfig = z.infer<typeof amqpConfigSchema>;

/** Bounds that are no settings. */
export const AMQP_LIMITS = {
  /** Time for a client to get from the TCP connection to connection.open. */
  handshakeTimeoutMs: 10_000,
  /** Time a client has to answer connection.close before its socket is cut. */
  closeTimeoutMs: 3_000,
  /** How long a refused login without `authentication_failure_close` is kept waiting. */
  loginPenaltyMs: 3_000,
  /** Bytes in a socket's own buffer above which no new deliveries are asked for. */
  socketBufferBytes: 1024 * 1024,
  /** Delivered bytes of one consumer that may wait to be written out. */
  consumerWindowBytes: 1024 * 1024,
  /** Bytes in a requester's socket above which replies to it are dropped. */
  replyBufferBytes: 16 * 1024 * 1024,
  /** Commands of one connection that wait behind a slow one, in bytes, before it is read no further. */
  waitingCommandBytes: 1024 * 1024,
  /** Virtual hosts: they come into being when a client connects to them. */
  vhosts: 10_000,
  /** Consumers on one channel. */
  consumersPerChannel: 10_000,
  /** Publishes of one read are handed over in batches of at most this many messages and body bytes. */
  batchMessages: 5_000,
  batchBytes: 8 * 1024 * 1024,
  /** A publish that reaches more queues than this, or comes to more than `batchBytes`, is handed over in several batches. */
  widePublish: 5_000,
  /** Messages of one transaction, and body bytes in all transactions of one connection. */
  transactionMessages: 10_000,
  transactionBytes: 128 * 1024 * 1024,
  /** How often a publish that was refused for lack of space is tried again. */
  blockedRetryMs: 100,
  /** Time between two looks at what a connection with heartbeats has sent and received, at least. */
  heartbeatTickMsMin: 250,
} as const;
