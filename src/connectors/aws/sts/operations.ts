import type { Operation } from '../operation.js';
import { getCallerIdentity } from './get-caller-identity-action.js';

/** What of STS is served, by name. */
export const STS_OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  [getCallerIdentity.name, getCallerIdentity],
]);
