import { getHeapStatistics } from 'node:v8';
import { DEFAULT_CORE_LIMITS, type CoreLimits } from '../core/core-context.js';
import type { Config } from './settings.js';

/** What waits for the disk may take this part of the heap: twice as much with its reserve, and the rest is for all else. */
const BACKLOG_PART = 1 / 8;

/** The core's bounds on this machine: small ones have a small heap. */
export function coreLimits({ store }: Config): Partial<CoreLimits> {
  const heapBytes = getHeapStatistics().heap_size_limit;
  return {
    memoryBytesMax: store.memoryMaxBytes || Infinity,
    backlogBytesMax: Math.min(DEFAULT_CORE_LIMITS.backlogBytesMax, Math.floor(heapBytes * BACKLOG_PART)),
  };
}
