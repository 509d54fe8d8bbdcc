import { isDurable } from '../../topology/channel-settings.js';
import type { Binding } from '../../topology/types.js';
import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';
import {
  checkBinding,
  existingExchange,
  queueName,
  refuseDefaultExchange,
  requirePermission,
  requireTopic,
  usableQueue,
} from './access.js';

/** queue.bind: messages of an exchange with this key (or these headers) reach the queue. Idempotent. */
export async function queueBind(channel: AmqpChannel, args: MethodArgs<'queue.bind'>): Promise<void> {
  const { host } = channel;
  refuseDefaultExchange(args.exchange);
  const name = queueName(channel, args.queue);
  requirePermission(host, 'write', 'queue', name);
  requirePermission(host, 'read', 'exchange', args.exchange);
  // The exchange is missed first, as in RabbitMQ.
  const exchange = existingExchange(channel, args.exchange);
  const queue = usableQueue(channel, name);
  requireTopic(host, 'read', exchange, args.routingKey);
  checkBinding(exchange, args);
  const binding: Binding = {
    source: exchange.name,
    destination: { kind: 'queue', name: queue.name },
    routingKey: bindingKeyOf(args, queue.name),
    arguments: args.arguments,
    durable: exchange.durable && isDurable(queue),
  };
  await host.topology.bind(host.vhost, binding);
  if (!args.nowait) host.writer.method(channel.number, 'queue.bind-ok', {});
}

/** queue.unbind: removes exactly that binding; a missing one, or missing ends of it, are fine. */
export async function queueUnbind(channel: AmqpChannel, args: MethodArgs<'queue.unbind'>): Promise<void> {
  const { host } = channel;
  refuseDefaultExchange(args.exchange);
  const name = queueName(channel, args.queue);
  requirePermission(host, 'write', 'queue', name);
  requirePermission(host, 'read', 'exchange', args.exchange);
  if (host.vhost.queues.has(name)) usableQueue(channel, name);
  requireTopic(host, 'read', host.vhost.exchanges.get(args.exchange), args.routingKey);
  await host.topology.unbind(host.vhost, {
    source: args.exchange,
    destination: { kind: 'queue', name },
    routingKey: bindingKeyOf(args, name),
    arguments: args.arguments,
    durable: true,
  });
  host.writer.method(channel.number, 'queue.unbind-ok', {});
}

/** No queue and no key: the key is the name of the last queue declared on the channel. */
function bindingKeyOf(args: { readonly queue: string; readonly routingKey: string }, queue: string): string {
  return args.queue === '' && args.routingKey === '' ? queue : args.routingKey;
}
