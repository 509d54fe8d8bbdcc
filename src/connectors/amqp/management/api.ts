import type { Identity } from '../access/access-policy.js';
import { FREE_ACCESS } from '../access/access-policy.js';
import type { LocalAccess } from '../access/local-access.js';
import type { ConnectionInfo } from '../connection/connection-info.js';
import type { ConnectionContext } from '../connection/context.js';
import type { Binding } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import { notAuthorised, notFound } from './http-error.js';
import { InProcessClient } from './in-process-client.js';
import { Rates } from './rates.js';
import { Views } from './views.js';

/** Tags that open the management API (RabbitMQ's). */
const TAGS = ['administrator', 'monitoring', 'policymaker', 'management'];
const NOT_AUTHORISED = 'User not authorised to access object';

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

  /** Who somebody is here, with the tags that count; undefined when that is nobody who may come in. */
  admitted(identity: Identity): Identity | undefined {
    const tags = this.context.access.managementTags(identity);
    return tags.some((tag) => TAGS.includes(tag)) ? { ...identity, tags } : undefined;
  }

  /** 401 for anything that concerns the broker as a whole, unless it is an administrator who asks. */
  requireAdministrator(identity: Identity): void {
    if (!identity.tags.includes('administrator')) throw notAuthorised(NOT_AUTHORISED);
  }

  /** 401 for what the node is, unless it is a monitor who asks. */
  requireMonitor(identity: Identity): void {
    if (!this.monitors(identity)) throw notAuthorised(NOT_AUTHORISED);
  }

  /** Whether connections, channels and consumers of others are shown, too. */
  monitors({ tags }: Identity): boolean {
    return tags.includes('administrator') || tags.includes('monitoring');
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
    return this.monitors(identity) || this.context.access.mayOpen(identity, vhost.name);
  }

  /** One's own, or, for who monitors, any. */
  seesConnection({ session }: ConnectionInfo, identity: Identity): boolean {
    return this.monitors(identity) || session.identity.user === identity.user;
  }

  /** Under the broker's rules, queues and exchanges that a client may neither read nor write are not there for it. */
  seesResource(vhost: Vhost, identity: Identity, name: string): boolean {
    return name === '' || name.startsWith('amq.') || this.context.access.sees(identity, vhost.name, name);
  }

  seesBinding(vhost: Vhost, identity: Identity, ends: Pick<Binding, 'source' | 'destination'>): boolean {
    return [ends.source, ends.destination.name].every((name) => this.seesResource(vhost, identity, name));
  }

  client(vhost: Vhost, identity: Identity): InProcessClient {
    return new InProcessClient(this.context, vhost, identity);
  }

  /** A client that is not asked for permissions: an administrator wants all of it. */
  freeClient(vhost: Vhost, identity: Identity): InProcessClient {
    return new InProcessClient({ ...this.context, access: FREE_ACCESS }, vhost, identity);
  }
}
