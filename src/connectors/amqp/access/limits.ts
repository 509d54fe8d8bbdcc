import { percentEncode } from '../../../base/percent.js';
import type { Broker } from '../../../core/broker-api.js';
import type { RegistryEntry } from '../../../core/registry/types.js';
import { ReplyError } from '../wire/reply.js';

/** What an administrator can bound, by RabbitMQ's names. */
export const LIMIT_NAMES = {
  vhost: ['max-connections', 'max-queues'],
  user: ['max-connections', 'max-channels'],
} as const;

export type LimitKind = keyof typeof LIMIT_NAMES;
type LimitName<K extends LimitKind> = (typeof LIMIT_NAMES)[K][number];

const REGISTRY_KINDS: Readonly<Record<LimitKind, string>> = {
  vhost: 'amqp.vhost-limits',
  user: 'amqp.user-limits',
};

/** Bounds of one virtual host or user; negative ones are none. */
export interface LimitsRecord {
  /** Name of the virtual host or user. */
  readonly of: string;
  readonly values: Readonly<Record<string, number>>;
}

/** Who is counted against a bound of connections or channels. */
export interface Occupant {
  readonly vhost: string;
  readonly user: string;
  readonly channels: number;
}

/** Bounds of virtual hosts and users, kept in the registry. They hold for what begins from then on. */
export class Limits {
  readonly #broker: Broker;
  readonly #occupants: () => Iterable<Occupant>;
  readonly #records: Readonly<Record<LimitKind, Map<string, LimitsRecord>>> = {
    vhost: new Map(),
    user: new Map(),
  };
  readonly #unwatch: (() => void)[] = [];

  /** `occupants`: connections that are open. */
  constructor(broker: Broker, occupants: () => Iterable<Occupant>) {
    this.#broker = broker;
    this.#occupants = occupants;
  }

  start(): void {
    const { registry } = this.#broker;
    for (const kind of ['vhost', 'user'] as const) {
      const records = this.#records[kind];
      const note = (key: string, entry: RegistryEntry<LimitsRecord> | undefined): void => {
        if (entry === undefined) records.delete(key);
        else records.set(key, entry.value);
      };
      this.#unwatch.push(
        registry.watch(REGISTRY_KINDS[kind], (key, entry) =>
          note(key, entry as RegistryEntry<LimitsRecord> | undefined),
        ),
      );
      for (const entry of registry.list<LimitsRecord>(REGISTRY_KINDS[kind])) note(entry.key, entry);
    }
  }

  stop(): void {
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  all(kind: LimitKind): readonly LimitsRecord[] {
    return [...this.#records[kind].values()];
  }

  of(kind: LimitKind, name: string): LimitsRecord | undefined {
    return this.#records[kind].get(percentEncode(name));
  }

  /** Other bounds for one; without any, it is forgotten. */
  async put(kind: LimitKind, name: string, values: LimitsRecord['values']): Promise<void> {
    const key = percentEncode(name);
    const registryKind = REGISTRY_KINDS[kind];
    if (Object.keys(values).length > 0) {
      const value: LimitsRecord = { of: name, values };
      await this.#broker.change([{ do: 'put', kind: registryKind, key, value }]);
    } else if (this.#records[kind].has(key)) {
      await this.#broker.change([{ do: 'remove', kind: registryKind, key }]);
    }
  }

  /** 530 when the virtual host or the user has as many connections as it may. */
  requireConnection(vhost: string, user: string): void {
    const most = this.#bound('vhost', vhost, 'max-connections');
    if (this.#count((one) => (one.vhost === vhost ? 1 : 0), most) >= most) {
      throw new ReplyError(
        530,
        `access to vhost '${vhost}' refused for user '${user}': connection limit (${most}) is reached`,
      );
    }
    const mostOfUser = this.#bound('user', user, 'max-connections');
    if (this.#count((one) => (one.user === user ? 1 : 0), mostOfUser) >= mostOfUser) {
      throw new ReplyError(
        530,
        `connection refused for user '${user}': user connection limit (${mostOfUser}) is reached`,
      );
    }
  }

  /** 530 when all connections of the user have as many channels as they may. */
  requireChannel(user: string): void {
    const most = this.#bound('user', user, 'max-channels');
    if (this.#count((one) => (one.user === user ? one.channels : 0), most) < most) return;
    throw new ReplyError(
      530,
      `number of channels opened for user '${user}' has reached the maximum allowed user limit of (${most})`,
      { culprit: { classId: 0, methodId: 0 } },
    );
  }

  /** 406 when the virtual host has as many queues as it may. */
  requireQueue(vhost: string, queues: number, name: string): void {
    const most = this.#bound('vhost', vhost, 'max-queues');
    if (queues < most) return;
    throw new ReplyError(
      406,
      `cannot declare queue '${name}': queue limit in vhost '${vhost}' (${most}) is reached`,
    );
  }

  #bound<K extends LimitKind>(kind: K, name: string, limit: LimitName<K>): number {
    if (this.#records[kind].size === 0) return Infinity;
    const value = this.of(kind, name)?.values[limit] ?? -1;
    return value < 0 ? Infinity : value;
  }

  /** Nobody is counted where there is no bound. */
  #count(of: (one: Occupant) => number, bound: number): number {
    if (bound === Infinity) return 0;
    let sum = 0;
    for (const one of this.#occupants()) sum += of(one);
    return sum;
  }
}
