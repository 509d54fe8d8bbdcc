import type { Log } from '../../../base/log.js';
import type { Deadlines } from './deadlines.js';

/** What the calls of one connection share. */
export interface CallContext {
  readonly maxReceiveBytes: number;
  readonly deadlines: Deadlines;
  readonly log: Log;
  /** The name in the client certificate of the connection, when one was checked. */
  readonly peerName: string | undefined;
  /** Bytes held for messages that are not complete, and their bound. */
  heldBytes: number;
  readonly heldBytesMax: number;
}
