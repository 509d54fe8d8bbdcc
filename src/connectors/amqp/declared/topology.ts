import { FREE_ACCESS } from '../access/access-policy.js';
import type { Identity } from '../access/access-policy.js';
import type { AmqpConfig } from '../config.js';
import type { ConnectionContext } from '../connection/context.js';
import { InProcessClient } from '../management/in-process-client.js';
import { tableFromJson } from '../mapping/json-headers.js';

/** Whoever wrote the configuration may do everything. */
const OWNER: Identity = { user: 'configuration', tags: ['administrator'] };

/**
 * Makes what the configuration declares, as a client would: what is there and the same is fine, what differs is refused.
 * Throws an Error that names the place.
 */
export async function declareTopology(context: ConnectionContext): Promise<void> {
  const { exchanges, queues, bindings } = context.config;
  for (const [i, one] of exchanges.entries()) {
    await declaring(`exchanges[${i}] (${one.name})`, () => declareExchange(context, one));
  }
  for (const [i, one] of queues.entries()) {
    await declaring(`queues[${i}] (${one.name})`, () => declareQueue(context, one));
  }
  for (const [i, one] of bindings.entries()) {
    await declaring(`bindings[${i}] (${one.source} to ${one.destination})`, () => bind(context, one));
  }
}

async function declaring(place: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`connectors.amqp.${place}: ${why}`, { cause: error });
  }
}

async function clientOf(context: ConnectionContext, vhostName: string): Promise<InProcessClient> {
  const known = context.topology.knownVhost(vhostName);
  const place = known ?? (await context.topology.createVhost(vhostName));
  return new InProcessClient({ ...context, access: FREE_ACCESS }, place, OWNER);
}

async function declareExchange(
  context: ConnectionContext,
  one: AmqpConfig['exchanges'][number],
): Promise<void> {
  const client = await clientOf(context, one.vhost);
  await client.call('exchange.declare', {
    ticket: 0,
    exchange: one.name,
    type: one.type,
    passive: false,
    durable: one.durable,
    autoDelete: one.autoDelete,
    internal: one.internal,
    nowait: true,
    arguments: tableFromJson(one.arguments),
  });
}

async function declareQueue(context: ConnectionContext, one: AmqpConfig['queues'][number]): Promise<void> {
  const client = await clientOf(context, one.vhost);
  await client.call('queue.declare', {
    ticket: 0,
    queue: one.name,
    passive: false,
    durable: one.durable,
    exclusive: false,
    autoDelete: one.autoDelete,
    nowait: true,
    arguments: tableFromJson(one.arguments),
  });
}

async function bind(context: ConnectionContext, one: AmqpConfig['bindings'][number]): Promise<void> {
  const { source, destination, destinationType, routingKey } = one;
  const client = await clientOf(context, one.vhost);
  const common = { ticket: 0, routingKey, nowait: true, arguments: tableFromJson(one.arguments) };
  if (destinationType === 'queue') {
    await client.call('queue.bind', { ...common, queue: destination, exchange: source });
  } else {
    await client.call('exchange.bind', { ...common, destination, source });
  }
}
