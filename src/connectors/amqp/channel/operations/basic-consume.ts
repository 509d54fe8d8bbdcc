import { BrokerError } from '../../../../core/errors.js';
import { erlangType } from '../../mapping/publish-properties.js';
import { integerOf } from '../../mapping/queue-arguments.js';
import type { Queue } from '../../topology/types.js';
import type { FieldTable } from '../../wire/field-table.js';
import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { REPLY_QUEUE } from '../direct-replies.js';
import { ackTimeoutOf } from './ack-timeout.js';
import { queueName, requirePermission, usableQueue } from './access.js';
import { consumeReplies } from './reply-consumer.js';
import { streamSequence } from './stream-offset.js';

/** basic.consume: starts a consumer. `no-local` is accepted and not looked at, as in RabbitMQ. */
export function basicConsume(channel: AmqpChannel, args: MethodArgs<'basic.consume'>): void {
  const { host } = channel;
  const tag = args.consumerTag === '' ? serverTag(channel) : args.consumerTag;
  if (args.queue === REPLY_QUEUE) {
    consumeReplies(channel, tag, args);
    if (!args.nowait) host.writer.method(channel.number, 'basic.consume-ok', { consumerTag: tag });
    return;
  }
  const name = queueName(channel, args.queue);
  requirePermission(host, 'read', 'queue', name);
  const queue = usableQueue(channel, name);
  if (channel.consumers.has(tag) || channel.replyConsumer?.tag === tag)
    throw new ReplyError(530, `attempt to reuse consumer tag '${tag}'`);
  const single = queue.arguments.get('x-single-active-consumer')?.value === true;
  if (single && args.exclusive) throw inExclusiveUse(queue, host.vhost.name);
  const priority = priorityOf(args.arguments, queue, host.vhost.name);
  checkType(channel, queue, args);
  const { broker, vhost } = host;
  const now = host.clock.now();
  try {
    channel.addConsumer({
      tag,
      queue,
      noAck: args.noAck,
      exclusive: args.exclusive,
      single,
      priority,
      prefetch: channel.prefetch === 0 || args.noAck ? host.config.maxUnacked : channel.prefetch,
      streamSequence:
        queue.type === 'stream'
          ? streamSequence({ broker, now, vhost: vhost.name }, queue, args.arguments)
          : 0,
      arguments: args.arguments,
      ackTimeoutMs: args.noAck ? 0 : ackTimeoutOf(host, queue, args.arguments),
    });
  } catch (caught) {
    if (caught instanceof BrokerError && caught.kind === 'forbidden') {
      throw inExclusiveUse(queue, host.vhost.name);
    }
    throw caught;
  }
  if (!args.nowait) host.writer.method(channel.number, 'basic.consume-ok', { consumerTag: tag });
}

/** What quorum queues and streams do not do; RabbitMQ's texts. */
function checkType(channel: AmqpChannel, queue: Queue, args: MethodArgs<'basic.consume'>): void {
  if (queue.type === 'classic') return;
  const subject = `queue '${queue.name}' in vhost '${channel.host.vhost.name}'`;
  if (queue.type === 'quorum') {
    if (channel.sharedPrefetch > 0) throw new ReplyError(540, `${subject} does not support global qos`);
    return;
  }
  if (args.noAck) {
    throw new ReplyError(540, `automatic acknowledgement not supported by stream queues ${subject}`);
  }
  if (channel.prefetch === 0) {
    throw new ReplyError(406, `consumer prefetch count is not set for '${subject}'`);
  }
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
