import { percentEncode } from '../../../base/percent.js';
import type { Broker } from '../../../core/broker-api.js';
import type { RegistryEntry } from '../../../core/registry/types.js';

const KIND = 'amqp.topic-permission';

/** Regular expressions over routing keys of a topic exchange; `{username}` and `{vhost}` stand for the user's. */
export interface TopicPermissionRecord {
  readonly user: string;
  readonly vhost: string;
  readonly exchange: string;
  readonly write: string;
  readonly read: string;
}

interface Rules {
  readonly record: TopicPermissionRecord;
  readonly compiled: Readonly<Record<'write' | 'read', RegExp>>;
}

/** What users may publish to topic exchanges, and bind to them. A user without a record for an exchange may do both. */
export class TopicPermissions {
  readonly #broker: Broker;
  readonly #onChanged: () => void;
  readonly #rules = new Map<string, Rules>();
  #unwatch = (): void => undefined;

  constructor(broker: Broker, onChanged: () => void) {
    this.#broker = broker;
    this.#onChanged = onChanged;
  }

  start(): void {
    const { registry } = this.#broker;
    this.#unwatch = registry.watch(KIND, (key, entry) =>
      this.#note(key, entry as RegistryEntry<TopicPermissionRecord> | undefined),
    );
    for (const entry of registry.list<TopicPermissionRecord>(KIND)) this.#note(entry.key, entry);
  }

  stop(): void {
    this.#unwatch();
  }

  get all(): readonly TopicPermissionRecord[] {
    return [...this.#rules.values()].map(({ record }) => record);
  }

  allows(
    { user, vhost, exchange }: Pick<TopicPermissionRecord, 'user' | 'vhost' | 'exchange'>,
    permission: 'write' | 'read',
    routingKey: string,
  ): boolean {
    if (this.#rules.size === 0) return true;
    return this.#rules.get(keyOf({ user, vhost, exchange }))?.compiled[permission].test(routingKey) ?? true;
  }

  /** Throws SyntaxError for a pattern that is no regular expression. */
  async put(record: TopicPermissionRecord): Promise<void> {
    rulesOf(record);
    await this.#broker.change([{ do: 'put', kind: KIND, key: keyOf(record), value: record }]);
  }

  async removeAll(isMeant: (record: TopicPermissionRecord) => boolean): Promise<void> {
    const changes = this.all
      .filter(isMeant)
      .map((record) => ({ do: 'remove', kind: KIND, key: keyOf(record) }) as const);
    if (changes.length > 0) await this.#broker.change(changes);
  }

  #note(key: string, entry: RegistryEntry<TopicPermissionRecord> | undefined): void {
    if (entry === undefined) this.#rules.delete(key);
    else this.#rules.set(key, rulesOf(entry.value));
    this.#onChanged();
  }
}

function keyOf({
  user,
  vhost,
  exchange,
}: Pick<TopicPermissionRecord, 'user' | 'vhost' | 'exchange'>): string {
  return [user, vhost, exchange].map(percentEncode).join('/');
}

function rulesOf(record: TopicPermissionRecord): Rules {
  const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  const compile = (pattern: string): RegExp =>
    new RegExp(
      pattern === ''
        ? '^$'
        : pattern
            .replaceAll('{username}', () => literal(record.user))
            .replaceAll('{vhost}', () => literal(record.vhost)),
    );
  return { record, compiled: { write: compile(record.write), read: compile(record.read) } };
}
