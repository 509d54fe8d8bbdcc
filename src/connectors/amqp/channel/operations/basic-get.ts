import type { Queue } from '../../topology/types.js';
import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { ackTimeoutOf } from './ack-timeout.js';
import { queueName, requirePermission, usableQueue } from './access.js';

/** basic.get: one message, or none. Prefetch does not count here, and an exclusive consumer does not keep it away. */
export async function basicGet(channel: AmqpChannel, args: MethodArgs<'basic.get'>): Promise<void> {
  const { broker, topology, writer } = channel.host;
  const name = queueName(channel, args.queue);
  requirePermission(channel.host, 'read', 'queue', name);
  const queue = usableQueue(channel, name);
  refuseGet(queue, channel.host.vhost.name);
  topology.touch(queue);
  const [delivery] = await broker.receive({
    channel: queue.channel,
    max: 1,
    waitMs: 0,
    handOut: args.noAck ? { kind: 'auto' } : { kind: 'lease', leaseMs: 0 },
  });
  if (delivery === undefined) {
    writer.method(channel.number, 'basic.get-empty', { reserved1: '' });
    return;
  }
  if (channel.closed) {
    if (!args.noAck) channel.host.settle(delivery, 'requeue');
    return;
  }
  const { route, properties } = channel.partsOf(delivery, queue, 'get');
  const left = broker.queueStats(queue.channel)?.ready ?? 0;
  const tag = channel.addTaken(delivery, queue, args.noAck, ackTimeoutOf(channel.host, queue));
  const content = { route, properties, body: delivery.message.body };
  writer.getOk(channel.number, tag, delivery.redelivered, left, content);
}

function refuseGet(queue: Queue, vhost: string): void {
  const subject = `queue '${queue.name}' in vhost '${vhost}'`;
  if (queue.type === 'stream') {
    throw new ReplyError(540, `basic.get not supported by stream queues ${subject}`);
  }
  if (queue.type === 'quorum' && queue.arguments.get('x-single-active-consumer')?.value === true) {
    throw new ReplyError(
      405,
      `cannot obtain access to locked ${subject}. basic.get operations are not supported by quorum queues with single active consumer`,
    );
  }
}
