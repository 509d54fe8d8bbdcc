import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';
import {
  checkBinding,
  existingExchange,
  refuseDefaultExchange,
  requirePermission,
  requireTopic,
} from './access.js';

/** exchange.bind: messages of the source also go through the destination. Idempotent. */
export async function exchangeBind(channel: AmqpChannel, args: MethodArgs<'exchange.bind'>): Promise<void> {
  const { host } = channel;
  refuseDefaultExchange(args.source);
  refuseDefaultExchange(args.destination);
  requireBinding(channel, args);
  const source = existingExchange(channel, args.source);
  const destination = existingExchange(channel, args.destination);
  checkBinding(source, args);
  await host.topology.bind(host.vhost, {
    source: source.name,
    destination: { kind: 'exchange', name: destination.name },
    routingKey: args.routingKey,
    arguments: args.arguments,
    durable: source.durable && destination.durable,
  });
  if (!args.nowait) host.writer.method(channel.number, 'exchange.bind-ok', {});
}

/** exchange.unbind: removes exactly that binding; a missing one is fine. */
export async function exchangeUnbind(
  channel: AmqpChannel,
  args: MethodArgs<'exchange.unbind'>,
): Promise<void> {
  const { host } = channel;
  refuseDefaultExchange(args.source);
  refuseDefaultExchange(args.destination);
  requireBinding(channel, args);
  await host.topology.unbind(host.vhost, {
    source: args.source,
    destination: { kind: 'exchange', name: args.destination },
    routingKey: args.routingKey,
    arguments: args.arguments,
    durable: true,
  });
  if (!args.nowait) host.writer.method(channel.number, 'exchange.unbind-ok', {});
}

function requireBinding(
  { host }: AmqpChannel,
  ends: { readonly source: string; readonly destination: string; readonly routingKey: string },
): void {
  requirePermission(host, 'write', 'exchange', ends.destination);
  requirePermission(host, 'read', 'exchange', ends.source);
  requireTopic(host, 'read', host.vhost.exchanges.get(ends.source), ends.routingKey);
}
