import type { OutgoingMessage } from '../../../../core/message.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import type { HeldPublish, Transaction } from '../transaction.js';
import { isStreamDelivery } from '../unacked.js';
import { requirePermission, requirePublish } from './access.js';
import { transactionOf } from './tx-select.js';

/**
 * tx.commit: everything published and acknowledged since the last one, in one entry of the store: all of it or nothing.
 * A queue that refuses makes it fail: 406, and the channel's end gives back what was to be acknowledged.
 */
export async function txCommit(channel: AmqpChannel): Promise<void> {
  const { host } = channel;
  const transaction = transactionOf(channel);
  if (host.access.asksAlways) requireStill(channel, transaction);
  const { publishes, settlements } = transaction.take();
  const acks = settlements.flatMap(({ how, unacked }) =>
    how === 'ack' && !isStreamDelivery(unacked) ? [unacked] : [],
  );
  channel.publishesInFlight++;
  const stored = await host
    .commit(messagesOf(publishes, false), messagesOf(publishes, true), acks)
    .finally(() => channel.publishesEnded(1));
  if (!stored) {
    channel.restore(settlements);
    throw new ReplyError(406, 'partial tx completion');
  }
  channel.committed(settlements);
  if (channel.closed) return;
  for (const { returned } of publishes) {
    if (returned !== undefined) host.writer.return(channel.number, 312, 'NO_ROUTE', returned);
  }
  host.writer.method(channel.number, 'tx.commit-ok', {});
}

/** Rules may be others than when it was published and acknowledged. */
function requireStill({ host }: AmqpChannel, { publishes, settlements }: Transaction): void {
  for (const { exchange, keys } of publishes) requirePublish(host, exchange, keys);
  for (const { unacked } of settlements) requirePermission(host, 'read', 'queue', unacked.queue.name);
}

/** What goes to queues, or to streams, that are still there. */
function messagesOf(publishes: readonly HeldPublish[], streams: boolean): readonly OutgoingMessage[] {
  return publishes.flatMap(({ queues, messages }) =>
    messages.filter((_, i) => queues[i]?.alive === true && (queues[i].type === 'stream') === streams),
  );
}
