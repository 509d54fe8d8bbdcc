import { erlangType } from '../../mapping/publish-properties.js';
import { Equivalence } from '../../mapping/equivalence.js';
import type { ExchangeDefinition, ExchangeType } from '../../topology/types.js';
import { checkHashArguments } from '../../topology/consistent-hash.js';
import { delayedTypeOf, EXCHANGE_TYPES } from '../../topology/types.js';
import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import {
  cleanName,
  existingExchange,
  refuseDefaultExchange,
  requirePermission,
  requireSight,
} from './access.js';

/** exchange.declare: makes an exchange, or checks that the one that is there is the same; `passive` only looks. */
export async function exchangeDeclare(
  channel: AmqpChannel,
  args: MethodArgs<'exchange.declare'>,
): Promise<void> {
  const { host } = channel;
  const name = cleanName(args.exchange);
  refuseDefaultExchange(name);
  if (args.passive) {
    requireSight(host, 'exchange', name);
    existingExchange(channel, name);
  } else {
    const wanted: ExchangeDefinition = {
      name,
      type: exchangeType(args.type),
      durable: args.durable,
      autoDelete: args.autoDelete,
      internal: args.internal,
      arguments: args.arguments,
    };
    checkTypeArguments(wanted);
    requireDeclaration(channel, wanted);
    if (!host.vhost.exchanges.has(name)) {
      if (name.startsWith('amq.')) {
        throw new ReplyError(403, `exchange name '${name}' contains reserved prefix 'amq.*'`);
      }
      await host.topology.createExchange(host.vhost, wanted);
    }
    checkEquivalent(existingExchange(channel, name), wanted, host.vhost.name);
  }
  if (!args.nowait) host.writer.method(channel.number, 'exchange.declare-ok', {});
}

/** An alternate exchange gets what this one has no queue for: who may not read here or write there cannot name it. */
function requireDeclaration({ host }: AmqpChannel, { name, arguments: table }: ExchangeDefinition): void {
  requirePermission(host, 'configure', 'exchange', name);
  const field = table.get('alternate-exchange');
  if (field === undefined) return;
  if (field.tag !== 'S') {
    throw new ReplyError(
      406,
      `invalid type '${erlangType(field)}' for arg 'alternate-exchange' in exchange '${name}' in vhost '${host.vhost.name}'`,
    );
  }
  requirePermission(host, 'read', 'exchange', name);
  requirePermission(host, 'write', 'exchange', Buffer.from(field.value).toString('utf8'));
}

function exchangeType(text: string): ExchangeType {
  const type = EXCHANGE_TYPES.find((known) => known === text);
  if (type !== undefined) return type;
  throw new ReplyError(503, text === '' ? "invalid exchange type ''" : `unknown exchange type '${text}'`);
}

function checkTypeArguments({ type, arguments: table }: ExchangeDefinition): void {
  const delayedType = type === 'x-delayed-message' ? delayedTypeOf(table) : undefined;
  if (type === 'x-delayed-message' && delayedType === undefined) {
    throw new ReplyError(406, "Invalid argument, 'x-delayed-type' must be an existing exchange type");
  }
  if ((delayedType ?? type) === 'x-consistent-hash') checkHashArguments(table);
}

function checkEquivalent(current: ExchangeDefinition, wanted: ExchangeDefinition, vhost: string): void {
  const same = new Equivalence(`exchange '${current.name}' in vhost '${vhost}'`);
  same.same('type', wanted.type, current.type);
  same.same('durable', wanted.durable, current.durable);
  same.same('auto_delete', wanted.autoDelete, current.autoDelete);
  same.same('internal', wanted.internal, current.internal);
  same.sameArguments(['alternate-exchange'], wanted.arguments, current.arguments);
}
