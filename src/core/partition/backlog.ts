import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';

type Bounded = Pick<CoreContext, 'pipeline' | 'limits'>;

/** How many times the bound of what is taken in the bound of everything else is: settling is never refused before taking in is. */
const RESERVE = 2;

export const BEHIND = 'the store does not keep up';

/** So much waits for the journal that nothing more is taken in: no message, no change. What is there goes on leaving. */
export function isBehind({ pipeline, limits }: Bounded): boolean {
  return pipeline.backlogBytes > limits.backlogBytesMax;
}

/**
 * Even the reserve is used up: nothing is begun any more that could go on forever. Only what ends a delivery still is, and of
 * deliveries there are no new ones then, so that a disk that never answers cannot fill the memory.
 */
export function isFarBehind({ pipeline, limits }: Bounded): boolean {
  return pipeline.backlogBytes > limits.backlogBytesMax * RESERVE;
}

/** Throws `unavailable` when even the reserve is used up. */
export function refuseWhenFarBehind(core: Bounded): void {
  if (isFarBehind(core)) throw new BrokerError('unavailable', BEHIND);
}
