import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';

/** basic.qos: `global` sets the prefetch all consumers of the channel share; else that of consumers started from now on. */
export function basicQos(channel: AmqpChannel, args: MethodArgs<'basic.qos'>): void {
  if (args.prefetchSize !== 0) throw new ReplyError(540, `prefetch_size!=0 (${args.prefetchSize})`);
  if (args.global) channel.setSharedPrefetch(args.prefetchCount);
  else channel.prefetch = args.prefetchCount;
  channel.host.writer.method(channel.number, 'basic.qos-ok', {});
}
