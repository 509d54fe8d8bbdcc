import { invalidValue } from '../errors.js';
import type { Call } from '../operation.js';
import type { AwsFault } from '../wire/fault.js';
import type { Queue } from './queue-registry.js';
import type { Receipt } from './receipt.js';

/**
 * Deletes what the receipts were handed out for, in one step; not waited for on disk. Gives the fault of each receipt at
 * its place. On standard queues an expired receipt still deletes, as long as nobody else received the message since. A
 * receipt that owns nothing any more was deleted before, which is fine, or it expired: on standard queues that passes
 * without a word, on FIFO queues it is an error, as the group has moved on.
 */
export async function deleteAll(
  call: Call,
  queue: Queue,
  receipts: readonly Receipt[],
): Promise<readonly (AwsFault | undefined)[]> {
  if (queue.fifo) call.services.attempts.spend(receipts.map(({ token }) => token));
  const { refused } = await call.services.broker.settle({
    tokens: receipts.map(({ token }) => token),
    settlement: { kind: 'ack' },
    // A group has moved on when a receipt of it expired.
    late: !queue.fifo,
  });
  const faults: (AwsFault | undefined)[] = receipts.map(() => undefined);
  if (!queue.fifo) return faults;
  for (const i of refused) {
    const receipt = receipts[i];
    if (receipt?.expired === true) {
      faults[i] = invalidValue(receipt.text, 'ReceiptHandle', 'The receipt handle has expired.');
    }
  }
  return faults;
}
