import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { usableQueue } from './access.js';

/** basic.get: one message, or none. Prefetch does not count here, and an exclusive consumer does not keep it away. */
export async function basicGet(channel: AmqpChannel, args: MethodArgs<'basic.get'>): Promise<void> {
  const { broker, topology, writer } = channel.host;
  const queue = usableQueue(channel, args.queue);
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
  const { route, properties } = channel.partsOf(delivery, queue);
  const left = broker.queueStats(queue.channel)?.ready ?? 0;
  const tag = channel.addTaken(delivery, args.noAck);
  const content = { route, properties, body: delivery.message.body };
  writer.getOk(channel.number, tag, delivery.redelivered, left, content);
}
