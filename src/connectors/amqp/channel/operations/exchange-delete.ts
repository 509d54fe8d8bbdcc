import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { refuseDefaultExchange, requirePermission } from './access.js';

/** exchange.delete: with all its bindings; a missing exchange is fine. */
export async function exchangeDelete(
  channel: AmqpChannel,
  args: MethodArgs<'exchange.delete'>,
): Promise<void> {
  const { host } = channel;
  const { vhost } = host;
  const name = args.exchange;
  refuseDefaultExchange(name);
  if (name.startsWith('amq.')) {
    throw new ReplyError(403, `deletion of system exchange '${name}' in vhost '${vhost.name}' not allowed`);
  }
  requirePermission(host, 'configure', 'exchange', name);
  const exchange = vhost.exchanges.get(name);
  if (exchange !== undefined) {
    if (args.ifUnused && vhost.bindingsFrom(name).size > 0) {
      throw new ReplyError(406, `exchange '${name}' in vhost '${vhost.name}' in use`);
    }
    await host.topology.deleteExchange(vhost, exchange);
  }
  if (!args.nowait) host.writer.method(channel.number, 'exchange.delete-ok', {});
}
