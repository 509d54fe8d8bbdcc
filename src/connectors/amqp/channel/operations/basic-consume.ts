import { BrokerError } from '../../../../core/errors.js';
import { erlangType } from '../../mapping/publish-properties.js';
import { integerOf } from '../../mapping/queue-arguments.js';
import type { Queue } from '../../topology/types.js';
import type { FieldTable } from '../../wire/field-table.js';
import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { REPLY_QUEUE } from '../direct-replies.js';
import { usableQueue } from './access.js';
import { consumeReplies } from './reply-consumer.js';

/** basic.consume: starts a consumer. `no-local` is accepted and not looked at, as in RabbitMQ. */
export function basicConsume(channel: AmqpChannel, args: MethodArgs<'basic.consume'>): void {
  const { host } = channel;
  const tag = args.consumerTag === '' ? serverTag(channel) : args.consumerTag;
  if (args.queue === REPLY_QUEUE) {
    consumeReplies(channel, tag, args);
    if (!args.nowait) host.writer.method(channel.number, 'basic.consume-ok', { consumerTag: tag });
    return;
  }
  const queue = usableQueue(channel, args.queue);
  if (channel.consumers.has(tag) || channel.replyConsumer?.tag === tag)
    throw new ReplyError(530, `attempt to reuse consumer tag '${tag}'`);
  const single = queue.arguments.get('x-single-active-consumer')?.value === true;
  if (single && args.exclusive) throw inExclusiveUse(queue, host.vhost.name);
  const priority = priorityOf(args.arguments, queue, host.vhost.name);
  try {
    channel.addConsumer({
      tag,
      queue,
      noAck: args.noAck,
      exclusive: args.exclusive,
      single,
      priority,
      prefetch: channel.prefetch === 0 || args.noAck ? host.config.maxUnacked : channel.prefetch,
    });
  } catch (caught) {
    if (caught instanceof BrokerError && caught.kind === 'forbidden') {
      throw inExclusiveUse(queue, host.vhost.name);
    }
    throw caught;
  }
  if (!args.nowait) host.writer.method(channel.number, 'basic.consume-ok', { consumerTag: tag });
}

function inExclusiveUse(queue: Queue, vhost: string): ReplyError {
  return new ReplyError(403, `queue '${queue.name}' in vhost '${vhost}' in exclusive use`);
}

function serverTag(channel: AmqpChannel): string {
  return `amq.ctag-${Buffer.from(channel.host.ids.bytes(16)).toString('base64url')}`;
}

function priorityOf(args: FieldTable, queue: Queue, vhost: string): number {
  const field = args.get('x-priority');
  if (field === undefined) return 0;
  const priority = integerOf(field);
  if (priority !== undefined) return priority;
  throw new ReplyError(
    406,
    `invalid arg 'x-priority' for queue '${queue.name}' in vhost '${vhost}': "expected integer, got ${erlangType(field)}"`,
  );
}
