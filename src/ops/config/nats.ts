import { z } from 'zod';

const file = (what: string) => z.string().default('').describe(what);

export const natsSettings = z.object({
  url: z
    .string()
    .min(1)
    .default('127.0.0.1:4222')
    .describe(
      'Servers of one NATS cluster, comma separated: `host:port`, `nats://…` or `tls://…`. For `STORE_ENGINE=nats`.',
    ),
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, 'letters, digits, - and _, at most 32')
    .default('polymq')
    .describe(
      'Name of the cluster: streams, subjects and the bucket begin with it. Nodes of one cluster share it.',
    ),
  replicas: z
    .number()
    .int()
    .min(1)
    .max(5)
    .default(3)
    .describe('Copies of everything, for streams that do not exist yet. 1 loses messages with its server.'),
  maxBytes: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe(
      'Bytes the journal may hold in JetStream, for a stream that does not exist yet. 0 = what the servers have.',
    ),
  leaseMs: z
    .number()
    .int()
    .min(500)
    .max(60_000)
    .default(2_000)
    .describe('A node that was not heard of for that long loses what it owns to another.'),
  user: z.string().default('').describe('User name at NATS.'),
  password: z.string().default('').describe('Password at NATS.').meta({ secret: true }),
  token: z
    .string()
    .default('')
    .describe('Token at NATS, instead of user and password.')
    .meta({ secret: true }),
  credentialsFilename: file('Credentials file (JWT and seed) for NATS.'),
  nkeyFilename: file('File with the seed of a user NKey (`SU…`) for NATS.'),
  caFilename: file('Authorities that NATS servers are checked against; turns TLS on.'),
  certFilename: file('Certificate that NATS asks of its clients.'),
  keyFilename: file('Key of that certificate.'),
});

export type NatsConfig = z.output<typeof natsSettings>;
