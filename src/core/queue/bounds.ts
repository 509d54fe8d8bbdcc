import type { QueueSettings } from './types.js';

/** As a bound of a queue, whose 0 means none: nothing may stay, and what comes is for whoever waits for it. */
export const NOTHING = -1;

/** Whether so much is more than a bound allows. */
export function exceeds(bound: number, amount: number): boolean {
  return bound !== 0 && amount > Math.max(bound, 0);
}

/** Whether what is too much leaves from the front. */
export function dropsHead({ overflow, maxLength, maxLengthBytes }: QueueSettings): boolean {
  return overflow === 'drop-head' && (maxLength !== 0 || maxLengthBytes !== 0);
}

/** When a life ends that begins at `from`, by the message's own bound and its queue's; 0 = never. */
export function endOfLife(from: number, ownMs: number | undefined, queueMs: number): number {
  if (ownMs === undefined) return queueMs === 0 ? 0 : from + Math.max(queueMs, 0);
  return from + (queueMs === 0 ? ownMs : Math.min(ownMs, Math.max(queueMs, 0)));
}
