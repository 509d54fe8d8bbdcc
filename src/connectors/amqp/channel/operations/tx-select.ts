import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { Transaction } from '../transaction.js';

/** tx.select: publishes and acknowledgements of this channel wait for tx.commit from now on. Repeating it changes nothing. */
export function txSelect(channel: AmqpChannel): void {
  if (channel.confirms !== undefined) throw new ReplyError(406, 'cannot switch from confirm to tx mode');
  channel.transaction ??= new Transaction(channel.host.heldBytes);
  channel.host.writer.method(channel.number, 'tx.select-ok', {});
}

/** The transaction of a channel; 406 when it is not in tx mode. */
export function transactionOf(channel: AmqpChannel): Transaction {
  if (channel.transaction === undefined) throw new ReplyError(406, 'channel is not transactional');
  return channel.transaction;
}
