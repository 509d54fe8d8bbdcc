import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { deleteUnused } from './auto-delete.js';

/** basic.cancel: ends a consumer; an unknown tag is fine. The last one to leave an auto-delete queue takes it along. */
export async function basicCancel(channel: AmqpChannel, args: MethodArgs<'basic.cancel'>): Promise<void> {
  const consumer = channel.removeConsumer(args.consumerTag);
  if (channel.replyConsumer?.tag === args.consumerTag) channel.dropReplyConsumer();
  if (!args.nowait) {
    channel.host.writer.method(channel.number, 'basic.cancel-ok', { consumerTag: args.consumerTag });
  }
  if (consumer !== undefined) await deleteUnused(channel.host, [consumer.options.queue]);
}
