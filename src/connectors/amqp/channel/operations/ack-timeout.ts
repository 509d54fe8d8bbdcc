import { integerOf } from '../../mapping/queue-arguments.js';
import type { Queue } from '../../topology/types.js';
import type { FieldTable } from '../../wire/field-table.js';
import type { ChannelHost } from '../host.js';

const ARGUMENT = 'x-consumer-timeout';

/** Time to acknowledge a delivery: the consumer's argument, else the queue's, else the setting. Milliseconds; 0 = no bound. */
export function ackTimeoutOf(
  host: Pick<ChannelHost, 'config'>,
  queue: Queue,
  consumerArguments?: FieldTable,
): number {
  const field = consumerArguments?.get(ARGUMENT) ?? queue.effective.get(ARGUMENT);
  const own = field === undefined ? undefined : integerOf(field);
  return own !== undefined && own >= 0 ? own : host.config.consumerTimeoutMs;
}
