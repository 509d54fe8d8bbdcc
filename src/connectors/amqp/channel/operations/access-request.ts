import type { MethodArgs } from '../../wire/methods.js';
import type { AmqpChannel } from '../amqp-channel.js';

/** access.request: from before 0-9-1; every ticket is good for everything. */
export function accessRequest(channel: AmqpChannel, _args: MethodArgs<'access.request'>): void {
  channel.host.writer.method(channel.number, 'access.request-ok', { ticket: 1 });
}
