import type { ErrorKind } from '../../core/errors.js';

/** HTTP status of each kind of error on the admin API. */
export const HTTP_STATUS: Readonly<Record<ErrorKind, number>> = {
  'not-found': 404,
  'already-exists': 409,
  'invalid-argument': 400,
  precondition: 412,
  'lease-lost': 409,
  limit: 413,
  forbidden: 403,
  unauthenticated: 401,
  unavailable: 503,
  draining: 503,
  internal: 500,
};
