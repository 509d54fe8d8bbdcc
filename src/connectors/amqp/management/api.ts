import type { Identity } from '../access/access-policy.js';
import { FREE_ACCESS } from '../access/access-policy.js';
import type { LocalAccess } from '../access/local-access.js';
import type { ConnectionContext } from '../connection/context.js';
import type { Vhost } from '../topology/vhost.js';
import { notAuthorised, notFound } from './http-error.js';
import { InProcessClient } from './in-process-client.js';
import { Rates } from './rates.js';
import { Views } from './views.js';

/** Tags that open the management API (RabbitMQ's). */
const TAGS = ['administrator', 'monitoring', 'policymaker', 'management'];

/** What the handlers of the management API work with. */
export class Api {
  readonly context: ConnectionContext;
  readonly users: LocalAccess;
  readonly views: Views;
  /** Ports that are open, for the overview and health checks. */
  readonly listeners: () => readonly {
    readonly name: string;
    readonly host: string;
    readonly port: number;
  }[];
  readonly startedAt: number;

  constructor(context: ConnectionContext, users: LocalAccess, listeners: Api['listeners']) {
    this.context = context;
    this.users = users;
    this.listeners = listeners;
    this.startedAt = context.clock.now();
    this.views = new Views(context, new Rates(context.clock));
  }

  /** Whether somebody may come in at all. Clients with a token have no tags; rules say what they may do. */
  admits(identity: Identity): boolean {
    return this.#byToken || identity.tags.some((tag) => TAGS.includes(tag));
  }

  get #byToken(): boolean {
    return this.context.access.enforced && !this.users.enforced;
  }

  /** 401 for anything that concerns the broker as a whole, unless it is an administrator who asks. */
  requireAdministrator(identity: Identity): void {
    if (identity.tags.includes('administrator')) return;
    if (this.#byToken && !this.context.access.asksAlways) return;
    throw notAuthorised('User not authorised to access object');
  }

  /** A virtual host: 404 when there is none, or when the user may not see it. */
  vhost(name: string | undefined, identity: Identity): Vhost {
    const vhost = name === undefined ? undefined : this.context.topology.knownVhost(name);
    if (vhost === undefined || !this.sees(vhost, identity)) throw notFound();
    return vhost;
  }

  /** The virtual hosts a user may see. */
  vhosts(identity: Identity): readonly Vhost[] {
    return this.context.topology.vhosts.filter((vhost) => this.sees(vhost, identity));
  }

  sees(vhost: Vhost, identity: Identity): boolean {
    return (
      identity.tags.includes('administrator') ||
      identity.tags.includes('monitoring') ||
      this.context.access.mayOpen(identity, vhost.name)
    );
  }

  /** Under the broker's rules, queues and exchanges that a client may neither read nor write are not there for it. */
  seesResource(vhost: Vhost, identity: Identity, name: string): boolean {
    return name === '' || name.startsWith('amq.') || this.context.access.sees(identity, vhost.name, name);
  }

  client(vhost: Vhost, identity: Identity): InProcessClient {
    return new InProcessClient(this.context, vhost, identity);
  }

  /** A client that is not asked for permissions: an administrator wants all of it. */
  freeClient(vhost: Vhost, identity: Identity): InProcessClient {
    return new InProcessClient({ ...this.context, access: FREE_ACCESS }, vhost, identity);
  }
}
