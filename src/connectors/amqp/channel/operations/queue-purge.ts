import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { queueName, requirePermission, usableQueue } from './access.js';

/** queue.purge: removes what is ready; unacknowledged messages stay. */
export async function queuePurge(channel: AmqpChannel, args: MethodArgs<'queue.purge'>): Promise<void> {
  const name = queueName(channel, args.queue);
  requirePermission(channel.host, 'read', 'queue', name);
  const queue = usableQueue(channel, name);
  if (queue.type === 'stream') {
    const { vhost } = channel.host;
    throw new ReplyError(
      540,
      `queue.purge not supported by stream queues queue '${queue.name}' in vhost '${vhost.name}'`,
    );
  }
  const purged = await channel.host.broker.purge(queue.channel, {
    ready: true,
    delayed: false,
    inFlight: false,
  });
  if (args.nowait) return;
  channel.host.writer.method(channel.number, 'queue.purge-ok', { messageCount: purged.ready });
}
