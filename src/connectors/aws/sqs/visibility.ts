import type { Settlement } from '../../../core/queue/types.js';
import { invalidValue, missingParameter } from '../errors.js';
import type { Input } from '../input.js';
import type { Call } from '../operation.js';
import type { AwsFault } from '../wire/fault.js';
import type { Queue } from './queue-registry.js';
import { readReceipt } from './receipt.js';
import type { Receipt } from './receipt.js';
import { readVisibilitySeconds, VISIBILITY_SECONDS_MAX } from './receive-message-action.js';

/** One change of visibility. */
export interface VisibilityChange {
  readonly receipt: Receipt;
  readonly seconds: number;
}

export function readVisibilityChange(call: Call, queue: Queue, input: Input): VisibilityChange {
  const receipt = readReceipt(call, queue, input);
  const seconds = readVisibilitySeconds(input);
  if (seconds === undefined) throw missingParameter('VisibilityTimeout');
  // In whole seconds: the longest timeout may still be set right behind the receive.
  const hiddenSeconds = Math.floor((call.services.clock.now() - receipt.receivedAt) / 1000);
  if (seconds > 0 && !receipt.expired && hiddenSeconds + seconds > VISIBILITY_SECONDS_MAX) {
    throw invalidValue(
      String(seconds),
      'VisibilityTimeout',
      `Total VisibilityTimeout for the message is beyond the limit [${VISIBILITY_SECONDS_MAX} seconds]`,
    );
  }
  return { receipt, seconds };
}

/**
 * Changes the visibility of messages; gives each one's fault at its place. 0 makes a message visible at once: at the
 * tail of a standard queue, at its old place in a group. On a standard queue an expired receipt is answered with
 * success and changes nothing.
 */
export async function changeAll(
  call: Call,
  queue: Queue,
  changes: readonly VisibilityChange[],
): Promise<readonly (AwsFault | undefined)[]> {
  const faults: (AwsFault | undefined)[] = changes.map(() => undefined);
  if (queue.fifo) call.services.attempts.spend(changes.map(({ receipt }) => receipt.token));
  // One settle call for each timeout: usually a single one.
  const bySeconds = new Map<number, number[]>();
  for (const [i, { seconds }] of changes.entries()) {
    const group = bySeconds.get(seconds);
    if (group === undefined) bySeconds.set(seconds, [i]);
    else group.push(i);
  }
  for (const [seconds, indexes] of bySeconds) {
    const receipts = indexes.map((i) => changes[i]?.receipt).filter((receipt) => receipt !== undefined);
    const { refused } = await call.services.broker.settle({
      tokens: receipts.map(({ token }) => token),
      settlement: settlementOf(queue, seconds),
    });
    for (const at of refused) {
      const receipt = receipts[at];
      const index = indexes[at];
      if (receipt === undefined || index === undefined || (!queue.fifo && receipt.expired)) continue;
      faults[index] = invalidValue(
        receipt.text,
        'ReceiptHandle',
        'Message does not exist or is not available for visibility timeout change.',
      );
    }
  }
  return faults;
}

function settlementOf(queue: Queue, seconds: number): Settlement {
  if (seconds > 0) return { kind: 'extend', leaseMs: seconds * 1000 };
  return { kind: 'nack', to: queue.fifo ? 'origin' : 'tail' };
}
