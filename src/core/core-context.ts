import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Scheduler, Timeouts } from '../base/scheduler.js';
import type { Translator } from './message.js';
import type { Pipeline } from './partition/pipeline.js';
import type { Journal } from './ports/journal.js';
import type { Tenure } from './ports/tenure.js';
import type { QueueStore } from './queue/queue-store.js';
import type { DeadLetterRouter } from './queue/types.js';

/** What the parts of a partition share. */
export interface CoreContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly journal: Journal;
  readonly tenure: Tenure;
  readonly pipeline: Pipeline;
  readonly queues: QueueStore;
  readonly scheduler: Scheduler;
  readonly timeouts: Timeouts;
  readonly translators: Map<string, Translator>;
  readonly routers: Map<string, DeadLetterRouter>;
  readonly limits: CoreLimits;
}

/** How often whoever may not answer looks whether the tenure is held again. */
export const NOT_HELD_RETRY_MS = 100;

/** Every bound of the core in one place. */
export interface CoreLimits {
  /** Body, tags, metadata and origin of one message together. */
  readonly messageBytesMax: number;
  /** Messages of one send or append. */
  readonly batchMax: number;
  /** Bytes of one send or append: an entry is atomic and must fit in memory. */
  readonly batchBytesMax: number;
  readonly queuesMax: number;
  /** Sub-channels of all families together. */
  readonly subChannelsMax: number;
  /** Waiting receives of all queues together. */
  readonly waitersMax: number;
  /** Consumers of all queues together. */
  readonly consumersMax: number;
  /** Memory of all that stays: messages kept off the journal, the message table, channels, dedup windows, the registry. Above it sends are refused. */
  readonly memoryBytesMax: number;
  /**
   * Memory of what waits for the journal: above it, messages and changes are refused; above twice as much nothing is handed out, for
   * that is journaled, too.
   */
  readonly backlogBytesMax: number;
  /** Deliveries handed to one consumer in one call. */
  readonly deliveriesPerTurnMax: number;
  /** Ids one dedup window remembers; the oldest go first. */
  readonly dedupIdsMax: number;
  /** Events and messages that a rewind looks at, or puts back, in one turn of the event loop. */
  readonly rewindSliceMax: number;
  /** Journal bytes after which a checkpoint is written (or one and a half times the size of the last one, if larger). */
  readonly checkpointEveryBytes: number;
  /** The cleaner copies survivors of extents that are live below this share. */
  readonly cleanBelowShare: number;
  /** Bytes the cleaner copies for each checkpoint. */
  readonly cleanBytesPerRound: number;
}

export const DEFAULT_CORE_LIMITS: CoreLimits = {
  messageBytesMax: 128 * 1024 * 1024,
  batchMax: 10_000,
  batchBytesMax: 256 * 1024 * 1024,
  queuesMax: 1_000_000,
  subChannelsMax: 5_000_000,
  waitersMax: 100_000,
  consumersMax: 100_000,
  memoryBytesMax: 4 * 1024 * 1024 * 1024,
  backlogBytesMax: 256 * 1024 * 1024,
  deliveriesPerTurnMax: 1_000,
  dedupIdsMax: 1_000_000,
  rewindSliceMax: 10_000,
  checkpointEveryBytes: 128 * 1024 * 1024,
  cleanBelowShare: 0.4,
  cleanBytesPerRound: 64 * 1024 * 1024,
};
