import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';

/** confirm.select: publishes on this channel are confirmed from now on, numbered from 1. Repeating it changes nothing. */
export function confirmSelect(channel: AmqpChannel, args: MethodArgs<'confirm.select'>): void {
  channel.enableConfirms();
  if (!args.nowait) channel.host.writer.method(channel.number, 'confirm.select-ok', {});
}
