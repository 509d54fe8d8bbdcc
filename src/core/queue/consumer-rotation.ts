import type { ChannelName } from '../channel-name.js';
import type { Family, Queue } from './family.js';
import type { ConsumeRequest } from './types.js';

/** A consumer and what it may still get. */
export interface ConsumerState {
  readonly only: ChannelName | undefined;
  readonly request: ConsumeRequest;
  readonly priority: number;
  credit: number;
  creditBytes: number;
  /** Waits for bodies from the disk; gets nothing else meanwhile, so that its order holds. */
  loading: boolean;
  cancelled: boolean;
  batch: number[];
}

/** Whether a consumer may get something now. */
export function hungry(consumer: ConsumerState): boolean {
  return consumer.credit > 0 && consumer.creditBytes > 0 && !consumer.loading && !consumer.cancelled;
}

/** The consumer whose turn it is: the highest priority that has credit, in rotation within it. */
export function nextConsumer(family: Family, byName: ReadonlyMap<string, Queue>): ConsumerState | undefined {
  const { consumers } = family;
  let best: ConsumerState | undefined;
  let bestAt = family.turn;
  for (let i = 1; i <= consumers.length; i++) {
    const at = (family.turn + i) % consumers.length;
    const consumer = consumers[at] as ConsumerState;
    if (!hungry(consumer) || (consumer.request.single === true && family.active !== consumer)) continue;
    if (consumer.only !== undefined && byName.get(consumer.only)?.eligible !== true) continue;
    if (best === undefined || consumer.priority > best.priority) {
      best = consumer;
      bestAt = at;
    }
  }
  family.turn = bestAt;
  return best;
}

/** Takes a consumer off its family. True when it was the active one of those that stand by, and another took its place. */
export function leave(family: Family, consumer: ConsumerState): boolean {
  consumer.cancelled = true;
  const at = family.consumers.indexOf(consumer);
  if (at >= 0) family.consumers.splice(at, 1);
  if (family.active !== consumer) return false;
  family.active = undefined;
  for (const other of family.consumers) {
    if (other.request.single !== true) continue;
    if (family.active === undefined || other.priority > family.active.priority) family.active = other;
  }
  return family.active !== undefined;
}
