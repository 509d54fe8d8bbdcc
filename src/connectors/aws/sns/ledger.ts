import type { QueueSettings } from '../../../core/queue/types.js';

/** How long a FIFO topic remembers what was published. */
const DEDUP_WINDOW_MS = 5 * 60 * 1000;

/**
 * Settings of a FIFO topic's ledger: the queue whose deduplication window and sequence are the topic's. Each publish leaves
 * one empty message there, of which only the newest is kept.
 */
export const LEDGER_SETTINGS: Partial<QueueSettings> = {
  dedupWindowMs: DEDUP_WINDOW_MS,
  maxLength: 1,
  overflow: 'drop-head',
};
