import type { CoreContext } from '../core-context.js';
import type { OutgoingMessage } from '../message.js';
import type { Arrival } from '../partition/records.js';
import { endOfLife } from './bounds.js';
import type { Queue } from './family.js';

/** An arrival that is filled anew for each message of a batch. */
export type MutableArrival = { -readonly [K in keyof Arrival]: Arrival[K] };

export function blankArrival(): MutableArrival {
  return {
    queue: 0,
    sequence: 0,
    enqueuedAt: 0,
    expiresAt: 0,
    delayedTo: 0,
    priority: 0,
    maxReceiveCount: 0,
    maxReceiveQueue: '',
    dedupId: '',
    reRoutedFrom: '',
  };
}

/** The arrival of `message` in `queue`: the next sequence, and its times by the message's policy and the queue's settings. */
export function fillArrival(a: MutableArrival, queue: Queue, message: OutgoingMessage, now: number): void {
  const { family } = queue;
  const { settings } = family;
  const policy = message.policy;
  const delayMs = policy?.delayMs ?? 0;
  a.queue = queue.id;
  a.sequence = family.nextSequence++;
  a.enqueuedAt = now;
  a.expiresAt = endOfLife(now + delayMs, policy?.expirationMs, settings.messageTtlMs);
  a.delayedTo = delayMs > 0 ? now + delayMs : 0;
  a.priority = settings.maxPriority === 0 ? 0 : Math.min(message.priority ?? 0, settings.maxPriority);
  a.maxReceiveCount = policy?.maxReceiveCount ?? 0;
  a.maxReceiveQueue = policy?.maxReceiveQueue ?? '';
  a.dedupId = settings.dedupWindowMs > 0 ? (message.dedupId ?? '') : '';
  a.reRoutedFrom = '';
}

export function newArrival(queue: Queue, message: OutgoingMessage, now: number): MutableArrival {
  const arrival = blankArrival();
  fillArrival(arrival, queue, message, now);
  return arrival;
}

/** Keeps what few messages have beside the table. */
export function setExtras(core: Pick<CoreContext, 'queues'>, slot: number, a: Arrival): void {
  if (a.expiresAt === 0 && a.delayedTo === 0 && a.maxReceiveCount === 0 && a.reRoutedFrom === '') return;
  const extras = core.queues.table.extrasOf(slot);
  extras.expiresAt = a.expiresAt;
  extras.delayedTo = a.delayedTo;
  extras.maxReceiveCount = a.maxReceiveCount;
  extras.maxReceiveQueue = a.maxReceiveQueue;
  extras.reRoutedFrom = a.reRoutedFrom;
}
