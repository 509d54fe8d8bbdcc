import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';

export function basicAck(channel: AmqpChannel, args: MethodArgs<'basic.ack'>): void {
  channel.settle(args.deliveryTag, args.multiple, 'ack');
}

/** Requeued messages go back to their old place; others are dead-lettered or dropped. */
export function basicNack(channel: AmqpChannel, args: MethodArgs<'basic.nack'>): void {
  channel.settle(args.deliveryTag, args.multiple, args.requeue ? 'requeue' : 'reject');
}

export function basicReject(channel: AmqpChannel, args: MethodArgs<'basic.reject'>): void {
  channel.settle(args.deliveryTag, false, args.requeue ? 'requeue' : 'reject');
}

/** basic.recover: everything unacknowledged on the channel goes back; redelivery to the same consumer alone does not exist. */
export function basicRecover(channel: AmqpChannel, args: MethodArgs<'basic.recover'>): void {
  recoverAll(channel, args.requeue);
  channel.host.writer.method(channel.number, 'basic.recover-ok', {});
}

export function basicRecoverAsync(channel: AmqpChannel, args: MethodArgs<'basic.recover-async'>): void {
  recoverAll(channel, args.requeue);
}

function recoverAll(channel: AmqpChannel, requeue: boolean): void {
  if (!requeue) throw new ReplyError(540, 'requeue=false');
  channel.requeueAll();
}
