import { createHash, timingSafeEqual } from 'node:crypto';
import { percentEncode } from '../../../base/percent.js';
import type { Broker } from '../../../core/broker-api.js';
import type { Change, RegistryEntry } from '../../../core/registry/types.js';
import type { AccessPolicy, Credentials, Identity, Permission, Topic } from './access-policy.js';
import { fitsPassword } from './password.js';
import { TopicPermissions } from './topic-permissions.js';

const USER_KIND = 'amqp.user';
const PERMISSION_KIND = 'amqp.permission';

/** A user kept in the registry: made by the management API, or with a definitions file. */
export interface UserRecord {
  readonly name: string;
  /** As RabbitMQ keeps it, see `password.ts`; empty: cannot log in with a password. */
  readonly passwordHash: string;
  readonly hashing: string;
  readonly tags: readonly string[];
}

/** Regular expressions over names of queues and exchanges. */
export interface PermissionRecord {
  readonly user: string;
  readonly vhost: string;
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

/** A user of the configuration: may do everything, everywhere. */
export interface ConfiguredUser {
  readonly name: string;
  readonly password: string;
}

/** Somebody who is in. */
interface Login {
  readonly user: string;
  readonly over: (reason: string) => void;
}

interface Rules {
  readonly record: PermissionRecord;
  readonly compiled: Readonly<Record<Permission, RegExp>>;
}

/**
 * Users of the configuration and of the registry. As long as there are none, nobody is checked. Users of the registry have
 * RabbitMQ's permissions: a regular expression a virtual host for each of configure, write and read.
 */
export class LocalAccess implements Omit<
  AccessPolicy,
  'asksAlways' | 'watch' | 'whileReadable' | 'managementTags' | 'sees' | 'allowsAnyQueue'
> {
  readonly #broker: Broker;
  readonly #configured: ReadonlyMap<string, string>;
  readonly #users = new Map<string, UserRecord>();
  /** By registry key. */
  readonly #rules = new Map<string, Rules>();
  readonly #unwatch: (() => void)[] = [];
  readonly #logins = new Set<Login>();
  readonly topics: TopicPermissions;
  version = 0;

  constructor(broker: Broker, configured: readonly ConfiguredUser[]) {
    this.#broker = broker;
    this.topics = new TopicPermissions(broker, () => {
      this.version++;
    });
    this.#configured = new Map(configured.map(({ name, password }) => [name, password]));
  }

  start(): void {
    this.topics.start();
    const { registry } = this.#broker;
    this.#unwatch.push(
      registry.watch(USER_KIND, (key, entry) =>
        this.#onUser(key, entry as RegistryEntry<UserRecord> | undefined),
      ),
      registry.watch(PERMISSION_KIND, (key, entry) =>
        this.#onPermission(key, entry as RegistryEntry<PermissionRecord> | undefined),
      ),
    );
    for (const entry of registry.list<UserRecord>(USER_KIND)) this.#onUser(entry.key, entry);
    for (const entry of registry.list<PermissionRecord>(PERMISSION_KIND)) {
      this.#onPermission(entry.key, entry);
    }
  }

  stop(): void {
    this.topics.stop();
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  get enforced(): boolean {
    return this.#configured.size > 0 || this.#users.size > 0;
  }

  login(credentials: Credentials): Identity | undefined {
    const { user } = credentials;
    const identity = this.#identityOf(user);
    if (credentials.mechanism === 'EXTERNAL' || !this.enforced) return identity;
    const configured = this.#configured.get(user);
    if (configured !== undefined) return sameText(configured, credentials.password) ? identity : undefined;
    const record = this.#users.get(user);
    if (record === undefined) return undefined;
    return fitsPassword(credentials.password, record.passwordHash, record.hashing) ? identity : undefined;
  }

  #identityOf(user: string): Identity | undefined {
    if (!this.enforced || this.#configured.has(user)) return { user, tags: ['administrator'] };
    const record = this.#users.get(user);
    return record === undefined ? undefined : { user, tags: record.tags };
  }

  /** A new password changes nothing for who is in already (measured on RabbitMQ), as long as the user still exists. */
  refresh(identity: Identity): boolean {
    return this.#identityOf(identity.user) !== undefined;
  }

  /** Whoever is taken away is sent away. */
  watch({ user }: Identity, over: (reason: string) => void): () => void {
    const login = { user, over };
    this.#logins.add(login);
    return () => void this.#logins.delete(login);
  }

  mayOpen(identity: Identity, vhost: string): boolean {
    return this.#isFree(identity) || this.#rules.has(permissionKey(identity.user, vhost));
  }

  allows(identity: Identity, vhost: string, permission: Permission, resource: string): boolean {
    if (this.#isFree(identity)) return true;
    return this.#rules.get(permissionKey(identity.user, vhost))?.compiled[permission].test(resource) === true;
  }

  allowsTopic(identity: Identity, vhost: string, permission: 'write' | 'read', topic: Topic): boolean {
    if (this.#isFree(identity)) return true;
    return this.topics.allows(
      { user: identity.user, vhost, exchange: topic.exchange },
      permission,
      topic.routingKey,
    );
  }

  #isFree({ user }: Identity): boolean {
    return !this.enforced || this.#configured.has(user);
  }

  // Managing -------------------------------------------------------------------------------------------------

  get users(): readonly UserRecord[] {
    const configured = [...this.#configured.keys()]
      .filter((name) => !this.#users.has(name))
      .map((name) => ({ name, passwordHash: '', hashing: '', tags: ['administrator'] }));
    return [...configured, ...this.#users.values()];
  }

  user(name: string): UserRecord | undefined {
    return this.users.find((user) => user.name === name);
  }

  get permissions(): readonly PermissionRecord[] {
    return [...this.#rules.values()].map(({ record }) => record);
  }

  async putUser(record: UserRecord): Promise<void> {
    await this.#broker.change([
      { do: 'put', kind: USER_KIND, key: percentEncode(record.name), value: record },
    ]);
  }

  async removeUser(name: string): Promise<void> {
    if (!this.#users.has(name)) return;
    const changes: Change[] = [{ do: 'remove', kind: USER_KIND, key: percentEncode(name) }];
    for (const [key, { record }] of this.#rules) {
      if (record.user === name) changes.push({ do: 'remove', kind: PERMISSION_KIND, key });
    }
    await this.#broker.change(changes);
    await this.topics.removeAll(({ user }) => user === name);
  }

  /** Throws SyntaxError for a pattern that is no regular expression. */
  async putPermission(record: PermissionRecord): Promise<void> {
    rulesOf(record);
    const key = permissionKey(record.user, record.vhost);
    await this.#broker.change([{ do: 'put', kind: PERMISSION_KIND, key, value: record }]);
  }

  async removePermission(user: string, vhost: string): Promise<void> {
    const key = permissionKey(user, vhost);
    if (this.#rules.has(key)) await this.#broker.change([{ do: 'remove', kind: PERMISSION_KIND, key }]);
  }

  #onUser(key: string, entry: RegistryEntry<UserRecord> | undefined): void {
    this.version++;
    if (entry !== undefined) {
      this.#users.set(entry.value.name, entry.value);
      return;
    }
    for (const name of this.#users.keys()) {
      if (percentEncode(name) !== key) continue;
      this.#users.delete(name);
      if (!this.#configured.has(name)) this.#sendAway(name);
    }
  }

  #sendAway(name: string): void {
    for (const login of [...this.#logins]) {
      if (login.user !== name) continue;
      this.#logins.delete(login);
      login.over(`user '${name}' is deleted`);
    }
  }

  #onPermission(key: string, entry: RegistryEntry<PermissionRecord> | undefined): void {
    this.version++;
    if (entry === undefined) this.#rules.delete(key);
    else this.#rules.set(key, rulesOf(entry.value));
  }
}

function permissionKey(user: string, vhost: string): string {
  return `${percentEncode(user)}/${percentEncode(vhost)}`;
}

function rulesOf(record: PermissionRecord): Rules {
  // Without any pattern, only the empty name is allowed, as in RabbitMQ.
  const compile = (pattern: string): RegExp => new RegExp(pattern === '' ? '^$' : pattern);
  const { configure, write, read } = record;
  return {
    record,
    compiled: { configure: compile(configure), write: compile(write), read: compile(read) },
  };
}

/** Equal texts, in a time that does not tell where they differ. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(a), digest(b));
}
