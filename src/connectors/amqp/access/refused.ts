import { ReplyError } from '../wire/reply.js';
import type { Identity } from './access-policy.js';

/** RabbitMQ's refusal; `what` is e.g. `queue 'q'`. */
export function refusedPermission(what: string, vhost: string, { user }: Identity): ReplyError {
  return new ReplyError(403, `access to ${what} in vhost '${vhost}' refused for user '${user}'`);
}
