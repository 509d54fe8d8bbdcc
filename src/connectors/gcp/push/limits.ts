/** Bounds of push, as Google describes them, and some of our own. */
export const PUSH_LIMITS = {
  /** Requests at once to one endpoint: grows from the first number with every success, up to the second. */
  windowStart: 3,
  windowMax: 1000,
  /** Pause after a failure; twice as long after each further one. */
  backoffMinMs: 100,
  backoffMaxMs: 60_000,
  /** Bodies under way of one subscription; one larger message still passes. */
  bytesMax: 32 * 1024 * 1024,
  /** How much longer than its request a lease lasts, so that the request's end settles the message. */
  leaseMarginMs: 5_000,
  /** Pause before a subscription that the broker refused something goes on. */
  recoveryMs: 1_000,
} as const;
