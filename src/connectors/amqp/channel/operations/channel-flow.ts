import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';

/** channel.flow: pauses or resumes deliveries to this channel's consumers. */
export function channelFlow(channel: AmqpChannel, args: MethodArgs<'channel.flow'>): void {
  channel.setFlow(args.active);
  channel.host.writer.method(channel.number, 'channel.flow-ok', { active: args.active });
}
