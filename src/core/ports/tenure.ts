import { BrokerError } from '../errors.js';

/**
 * This node's right to speak for the journal. The journal itself refuses what a deposed owner appends; this is for what is answered
 * from memory. Asked at every operation, so it must be cheap.
 */
export interface Tenure {
  /** False from the moment on when another node may have taken over, whatever this one slept through. */
  readonly held: boolean;
}

/** Of a broker that has its journal to itself. */
export const UNCONTESTED: Tenure = { held: true };

export function notOwner(): BrokerError {
  return new BrokerError('unavailable', 'this node does not own the journal at the moment');
}
