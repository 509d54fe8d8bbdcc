import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';

/** confirm.select: publishes on this channel are confirmed from now on, numbered from 1. Repeating it changes nothing. */
export function confirmSelect(channel: AmqpChannel, args: MethodArgs<'confirm.select'>): void {
  if (channel.transaction !== undefined) throw new ReplyError(406, 'cannot switch from tx to confirm mode');
  channel.enableConfirms();
  if (!args.nowait) channel.host.writer.method(channel.number, 'confirm.select-ok', {});
}
