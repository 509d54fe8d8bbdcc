import { SQS_FAULTS } from '../errors.js';
import { missingParameter } from '../errors.js';
import { optionalText } from '../input.js';
import type { Input } from '../input.js';
import { GROUP_MARK } from '../names.js';
import type { Call } from '../operation.js';
import type { LeaseToken } from '../../../core/queue/types.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { AwsFault } from '../wire/fault.js';
import { decodeReceiptHandle } from '../wire/receipt-handle.js';
import type { Queue } from './queue-registry.js';

/** A receipt handle that is the queue's. */
export interface Receipt {
  readonly text: string;
  readonly token: LeaseToken;
  /** Whether the lease the handle was made with is over; it may have been extended since. */
  readonly expired: boolean;
  /** Unix ms the message was received, to the second. */
  readonly receivedAt: number;
}

/** Reads a request's `ReceiptHandle`. Throws MissingParameter and ReceiptHandleIsInvalid. */
export function readReceipt(call: Call, queue: Queue, input: Input): Receipt {
  const text = optionalText(input, 'ReceiptHandle');
  if (text === undefined || text === '') throw missingParameter('ReceiptHandle');
  const handle = decodeReceiptHandle(text);
  const base = call.services.broker.resolve(queue.channel);
  if (handle === undefined || !(handle.channel === base || handle.channel.startsWith(base + GROUP_MARK))) {
    throw new AwsFault(
      SQS_FAULTS.receiptHandleIsInvalid,
      `The input receipt handle "${text.slice(0, 1_024)}" is not a valid receipt handle.`,
    );
  }
  return {
    text,
    token: { channel: handle.channel as ChannelName, sequence: handle.sequence, attempt: handle.attempt },
    expired: handle.leaseEndsAt <= call.services.clock.now(),
    receivedAt: handle.leaseEndsAt - handle.leaseSeconds * 1000,
  };
}
