/**
 * What can go wrong, in words no protocol owns. Each connector maps every kind to its own wire's codes in one table.
 *
 * - `limit`: a named bound was reached; trying again unchanged fails again.
 * - `unavailable`: not now (no space, shutting down, not the owner); the same call may succeed later.
 * - `lease-lost`: the token no longer owns its message; nothing was changed.
 */
export type ErrorKind =
  | 'not-found'
  | 'already-exists'
  | 'invalid-argument'
  | 'precondition'
  | 'lease-lost'
  | 'limit'
  | 'forbidden'
  | 'unauthenticated'
  | 'unavailable'
  | 'draining'
  | 'internal';

/** The one error class of the broker. `message` is for people; code decides by `kind` alone. */
export class BrokerError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BrokerError';
    this.kind = kind;
  }

  /** Whatever was caught, as a BrokerError; the original stays as `cause` for logs and never reaches a wire. */
  static from(caught: unknown): BrokerError {
    if (caught instanceof BrokerError) return caught;
    return new BrokerError('internal', 'internal error', { cause: caught });
  }
}
