import type { QueueSettings } from '../../../core/queue/types.js';

/** What no endpoint took for so long is given up, however slow its throttle is: as long as a queue may keep a message. */
const KEPT_MS = 14 * 24 * 60 * 60 * 1000;

/** Settings of the queue of a subscription's deliveries. */
export const DELIVERY_QUEUE: Partial<QueueSettings> = { retentionMs: KEPT_MS, expiredLeaseTo: 'origin' };
