import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { usableQueue } from './access.js';

/** queue.purge: removes what is ready; unacknowledged messages stay. */
export async function queuePurge(channel: AmqpChannel, args: MethodArgs<'queue.purge'>): Promise<void> {
  const queue = usableQueue(channel, args.queue);
  const purged = await channel.host.broker.purge(queue.channel, {
    ready: true,
    delayed: false,
    inFlight: false,
  });
  if (args.nowait) return;
  channel.host.writer.method(channel.number, 'queue.purge-ok', { messageCount: purged.ready });
}
