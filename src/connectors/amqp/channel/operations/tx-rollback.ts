import type { AmqpChannel } from '../amqp-channel.js';
import { transactionOf } from './tx-select.js';

/** tx.rollback: publishes since the last commit are forgotten, acknowledged deliveries wait for theirs again. */
export function txRollback(channel: AmqpChannel): void {
  channel.restore(transactionOf(channel).take().settlements);
  channel.host.writer.method(channel.number, 'tx.rollback-ok', {});
}
