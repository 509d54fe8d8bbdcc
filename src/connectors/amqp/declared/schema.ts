import { z } from 'zod';

const name = z.string().min(1);
const vhost = z.string().min(1).default('/');
const table = z.record(z.string(), z.unknown()).default({});

export const declaredExchanges = z
  .array(
    z.strictObject({
      name,
      vhost,
      type: z.string().min(1).default('direct'),
      durable: z.boolean().default(true),
      autoDelete: z.boolean().default(false),
      internal: z.boolean().default(false),
      arguments: table,
    }),
  )
  .readonly()
  .default([])
  .describe(
    'Exchanges that are declared at every start: `name`, `vhost`, `type`, `durable`, `autoDelete`, `internal`, `arguments`.',
  )
  .meta({ declarations: true });

export const declaredQueues = z
  .array(
    z.strictObject({
      name,
      vhost,
      durable: z.boolean().default(true),
      autoDelete: z.boolean().default(false),
      arguments: table,
    }),
  )
  .readonly()
  .default([])
  .describe('Queues that are declared at every start: `name`, `vhost`, `durable`, `autoDelete`, `arguments`.')
  .meta({ declarations: true });

export const declaredBindings = z
  .array(
    z.strictObject({
      source: name,
      destination: name,
      destinationType: z.enum(['queue', 'exchange']).default('queue'),
      vhost,
      routingKey: z.string().default(''),
      arguments: table,
    }),
  )
  .readonly()
  .default([])
  .describe(
    'Bindings that are made at every start: `source`, `destination`, `destinationType` (`queue`, `exchange`), `vhost`, ' +
      '`routingKey`, `arguments`.',
  )
  .meta({ declarations: true });
