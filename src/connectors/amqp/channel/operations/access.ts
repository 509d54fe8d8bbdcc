import type { Broker } from '../../../../core/broker-api.js';
import { weightOf } from '../../topology/consistent-hash.js';
import { matchMode } from '../../topology/headers-match.js';
import type { Binding, Exchange, Queue } from '../../topology/types.js';
import { routingTypeOf } from '../../topology/types.js';
import { DEFAULT_EXCHANGE, type Permission } from '../../access/access-policy.js';
import { refusedPermission } from '../../access/refused.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { isReplyName } from '../direct-replies.js';
import type { ChannelHost } from '../host.js';

/** The name an operation means: `""` is the last queue declared on this channel, 404 when there is none. */
export function queueName(channel: AmqpChannel, name: string): string {
  if (name !== '') return name;
  if (channel.lastQueue === '') throw new ReplyError(404, 'no previously declared queue');
  return channel.lastQueue;
}

/** 403 when the user may not do that with the queue or exchange of this name. */
export function requirePermission(
  host: Pick<ChannelHost, 'access' | 'identity' | 'vhost'>,
  permission: Permission,
  kind: 'queue' | 'exchange',
  name: string,
): void {
  const { access, identity, vhost } = host;
  const resource = kind === 'exchange' && name === '' ? DEFAULT_EXCHANGE : name;
  if (access.allows(identity, vhost.name, permission, resource)) return;
  throw refusedPermission(`${kind} '${resource}'`, vhost.name, identity);
}

/** 403 for who may not know of it. RabbitMQ asks nothing of who only looks, so the broker's rules alone are asked. */
export function requireSight(
  host: Pick<ChannelHost, 'access' | 'identity' | 'vhost'>,
  kind: 'queue' | 'exchange',
  name: string,
): void {
  const { access, identity, vhost } = host;
  if (!access.sees(identity, vhost.name, name))
    throw refusedPermission(`${kind} '${name}'`, vhost.name, identity);
}

/** 403 for who may not write to just any queue: by the rules, to the default exchange under the name it has elsewhere. */
export function requireAnyQueue({
  access,
  identity,
  vhost,
}: Pick<ChannelHost, 'access' | 'identity' | 'vhost'>): void {
  if (!access.allowsAnyQueue(identity, vhost.name)) {
    throw refusedPermission(`exchange '${DEFAULT_EXCHANGE}'`, vhost.name, identity);
  }
}

/** 403 when a publish to the exchange, which the default one is `''`, may not go where it goes. */
export function requirePublish(
  host: Pick<ChannelHost, 'access' | 'identity' | 'vhost'>,
  exchange: string,
  routingKeys: readonly string[],
): void {
  requirePermission(host, 'write', 'exchange', exchange);
  if (exchange !== '' || !host.access.asksAlways) return;
  // Rules are about the queues behind it, and whether there is such a queue is told to who may write to it. A reply goes to who asked.
  for (const key of routingKeys) {
    if (!isReplyName(key)) requirePermission(host, 'write', 'queue', key);
  }
}

/** 403 when the user may not publish to that routing key of a topic exchange, or bind to it; other exchanges have no topics. */
export function requireTopic(
  host: Pick<ChannelHost, 'access' | 'identity' | 'vhost'>,
  permission: 'write' | 'read',
  exchange: Exchange | undefined,
  routingKey: string,
): void {
  if (exchange?.type !== 'topic') return;
  const { access, identity, vhost } = host;
  if (access.allowsTopic(identity, vhost.name, permission, { exchange: exchange.name, routingKey })) return;
  throw new ReplyError(
    403,
    `access to topic '${routingKey}' in exchange '${exchange.name}' in vhost '${vhost.name}' refused for user '${identity.user}'`,
  );
}

/** A queue this connection may use. 404 when there is none of that name, 405 when it is another connection's. */
export function usableQueue(channel: AmqpChannel, name: string): Queue {
  const wanted = queueName(channel, name);
  const { vhost } = channel.host;
  const queue = vhost.queues.get(wanted);
  if (queue === undefined) throw noQueue(channel, wanted);
  refuseLocked(channel, queue);
  return queue;
}

export function noQueue(channel: AmqpChannel, name: string): ReplyError {
  return new ReplyError(404, `no queue '${name}' in vhost '${channel.host.vhost.name}'`);
}

/** What declare-ok and delete-ok count. */
export function readyCount(broker: Broker, queue: Queue): number {
  return queue.type === 'stream'
    ? (broker.logStats(queue.channel)?.events ?? 0)
    : (broker.queueStats(queue.channel)?.ready ?? 0);
}

/** 405 when the queue belongs to another connection. */
export function refuseLocked(channel: AmqpChannel, queue: Queue): void {
  if (queue.owner !== undefined && queue.owner !== channel.host.connectionId)
    throw locked(channel, queue.name);
}

export function locked(channel: AmqpChannel, queue: string): ReplyError {
  return new ReplyError(
    405,
    `cannot obtain exclusive access to locked queue '${queue}' in vhost '${channel.host.vhost.name}'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration.`,
  );
}

/** An exchange by name: 404 when there is none. Not for the default exchange. */
export function existingExchange(channel: AmqpChannel, name: string): Exchange {
  const { vhost } = channel.host;
  const exchange = vhost.exchanges.get(name);
  if (exchange === undefined) throw new ReplyError(404, `no exchange '${name}' in vhost '${vhost.name}'`);
  return exchange;
}

/** 406 when the exchange's type cannot do with the key or the arguments of a binding. */
export function checkBinding(source: Exchange, binding: Pick<Binding, 'routingKey' | 'arguments'>): void {
  const type = routingTypeOf(source);
  if (type === 'headers') matchMode(binding.arguments);
  else if (type === 'x-consistent-hash') weightOf(binding.routingKey);
}

/** 403 for what is never possible on the default exchange. */
export function refuseDefaultExchange(name: string): void {
  if (name === '') throw new ReplyError(403, 'operation not permitted on the default exchange');
}

/** RabbitMQ takes carriage returns and line feeds out of names. */
export function cleanName(name: string): string {
  return /[\r\n]/.test(name) ? name.replaceAll(/[\r\n]/g, '') : name;
}
