import type { Gatekeeper } from '../../../core/access/gatekeeper.js';
import { ACCESSES } from '../../../core/access/resource.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { Identity as TokenIdentity } from '../../kit/identity.js';
import type { QueueChannelMapping } from '../mapping/queue-channel.js';
import { DEFAULT_EXCHANGE } from './access-policy.js';
import type { AccessPolicy, Credentials, Identity, Permission, Topic } from './access-policy.js';
import type { LocalAccess } from './local-access.js';

export interface ConnectorAccessOptions {
  readonly local: LocalAccess;
  /** Of the whole broker: tokens, and rules over channels. */
  readonly identity: TokenIdentity;
  readonly gate: Gatekeeper;
  readonly mapping: QueueChannelMapping;
}

/**
 * Who clients are and what they may do: by token when the broker asks for one (it is the password of PLAIN), else by the
 * connector's own users. The broker's rules are asked, too: a queue is its channel, an exchange the channel of its name.
 */
export class ConnectorAccess implements AccessPolicy {
  readonly #options: ConnectorAccessOptions;

  constructor(options: ConnectorAccessOptions) {
    this.#options = options;
  }

  get enforced(): boolean {
    return this.#options.identity.required || this.#options.local.enforced;
  }

  get version(): number {
    return this.#options.local.version;
  }

  /** Rules may be replaced at any time. */
  get asksAlways(): boolean {
    return this.#options.gate.enabled;
  }

  login(credentials: Credentials): Identity | undefined | Promise<Identity | undefined> {
    const { identity, local } = this.#options;
    if (!identity.required) return local.login(credentials);
    if (credentials.mechanism === 'EXTERNAL') return { user: credentials.user, tags: [] };
    return this.#verify(credentials.password);
  }

  async #verify(token: string): Promise<Identity | undefined> {
    const { identity } = this.#options;
    try {
      return { user: identity.known(token) ?? (await identity.verify(token)), tags: [] };
    } catch {
      // Whatever is wrong with a token, its sender hears the same: a refused login.
      return undefined;
    }
  }

  async refresh(current: Identity, secret: string): Promise<boolean> {
    if (!this.#options.identity.required) return this.#options.local.refresh(current);
    return (await this.#verify(secret))?.user === current.user;
  }

  watch(current: Identity, secret: string | undefined, over: (reason: string) => void): () => void {
    const { identity, local } = this.#options;
    if (!identity.required) return local.watch(current, over);
    return secret === undefined ? () => undefined : identity.watch(secret, () => over('credential expired'));
  }

  mayOpen(identity: Identity, vhost: string): boolean {
    return this.#options.identity.required || this.#options.local.mayOpen(identity, vhost);
  }

  allows(identity: Identity, vhost: string, permission: Permission, resource: string): boolean {
    const { gate, local, mapping } = this.#options;
    if (!this.#options.identity.required && !local.allows(identity, vhost, permission, resource))
      return false;
    if (!gate.enabled) return true;
    // Where the default exchange sends to is known by the routing key only: each queue is asked for then.
    if (resource === DEFAULT_EXCHANGE) return true;
    const channel = channelOf(mapping, vhost, resource);
    const access = permission === 'read' ? 'read' : 'write';
    return gate.clientOf(identity.user).may({ kind: 'queue', access, channel });
  }

  /** A user's own tags were given by an administrator. Where there are no users, or tokens stand for them, rules say who is one. */
  managementTags(identity: Identity): readonly string[] {
    const { gate, local } = this.#options;
    if (local.enforced && !this.#options.identity.required) return identity.tags;
    const channel = 'amqp' as ChannelName;
    const client = gate.clientOf(identity.user);
    const all = ACCESSES.every((access) => client.may({ kind: 'queue', access, channel }));
    return [all ? 'administrator' : 'management'];
  }

  allowsAnyQueue({ user }: Identity, vhost: string): boolean {
    const { gate, mapping } = this.#options;
    const channel = channelOf(mapping, vhost, DEFAULT_EXCHANGE);
    return gate.clientOf(user).may({ kind: 'queue', access: 'write', channel });
  }

  sees({ user }: Identity, vhost: string, resource: string): boolean {
    const { gate, mapping } = this.#options;
    if (!gate.enabled || resource === DEFAULT_EXCHANGE) return true;
    return gate.clientOf(user).sees('queue', channelOf(mapping, vhost, resource));
  }

  /** Permissions of the connector's own users are asked for when a consumer begins only, as in RabbitMQ. */
  whileReadable(identity: Identity, vhost: string, queue: string, over: () => void): () => void {
    const { gate, mapping } = this.#options;
    const channel = channelOf(mapping, vhost, queue);
    return gate.clientOf(identity.user).whileAllowed({ kind: 'queue', access: 'read', channel }, over);
  }

  allowsTopic(identity: Identity, vhost: string, permission: 'write' | 'read', topic: Topic): boolean {
    const { identity: tokens, local } = this.#options;
    return tokens.required || local.allowsTopic(identity, vhost, permission, topic);
  }
}

/** The channel of a queue; exchanges may have names that no queue may have, and stand under them as they are. */
function channelOf(mapping: QueueChannelMapping, vhost: string, resource: string): ChannelName {
  const segment = mapping.vhostSegment(vhost);
  try {
    return mapping.channelOf(segment, resource);
  } catch {
    return `amqp.${segment}.${resource}` as ChannelName;
  }
}
