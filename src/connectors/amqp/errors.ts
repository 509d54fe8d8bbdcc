import type { ErrorKind } from '../../core/errors.js';
import { BrokerError } from '../../core/errors.js';
import type { ReplyCode } from './wire/reply.js';
import { ReplyError } from './wire/reply.js';

/** The reply code of every kind of broker error. Operations that know RabbitMQ's exact text throw a ReplyError themselves. */
export const REPLY_OF_KIND: Readonly<Record<ErrorKind, ReplyCode>> = {
  'not-found': 404,
  'already-exists': 406,
  'invalid-argument': 406,
  precondition: 406,
  'lease-lost': 406,
  limit: 406,
  forbidden: 403,
  unauthenticated: 403,
  // 506 closes the connection: clients reconnect and try again, which is what these two ask for.
  unavailable: 506,
  draining: 320,
  internal: 541,
};

/** Whatever was caught, as a refusal on the wire. What an internal error says stays inside. */
export function replyErrorOf(caught: unknown): ReplyError {
  if (caught instanceof ReplyError) return caught;
  const error = BrokerError.from(caught);
  const text = error.kind === 'internal' ? 'internal error' : error.message;
  return new ReplyError(REPLY_OF_KIND[error.kind], text, { cause: error });
}

/** Whether it says only that this node cannot serve now: clients connect again, and no operator is needed. */
export function isPassing({ code }: ReplyError): boolean {
  return code === REPLY_OF_KIND.unavailable || code === REPLY_OF_KIND.draining;
}
