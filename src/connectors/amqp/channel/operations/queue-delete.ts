import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { queueName, readyCount, refuseLocked, requirePermission } from './access.js';

/** queue.delete: a missing queue is fine and held no messages. Its consumers are cancelled. */
export async function queueDelete(channel: AmqpChannel, args: MethodArgs<'queue.delete'>): Promise<void> {
  const { host } = channel;
  const name = queueName(channel, args.queue);
  requirePermission(host, 'configure', 'queue', name);
  const queue = host.vhost.queues.get(name);
  let messageCount = 0;
  if (queue !== undefined) {
    refuseLocked(channel, queue);
    const ready = readyCount(host.broker, queue);
    // RabbitMQ counts nothing for a stream.
    if (queue.type !== 'stream') messageCount = ready;
    const subject = `queue '${name}' in vhost '${host.vhost.name}'`;
    if (args.ifUnused && queue.consumers > 0) throw new ReplyError(406, `${subject} in use`);
    if (args.ifEmpty && ready > 0) throw new ReplyError(406, `${subject} not empty`);
    await host.topology.deleteQueue(host.vhost, queue);
  }
  if (!args.nowait) host.writer.method(channel.number, 'queue.delete-ok', { messageCount });
}
