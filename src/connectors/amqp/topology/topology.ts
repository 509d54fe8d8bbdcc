import { percentEncode } from '../../../base/percent.js';
import type { Clock } from '../../../base/clock.js';
import type { Broker } from '../../../core/broker-api.js';
import type { Change, RegistryEntry } from '../../../core/registry/types.js';
import type { QueueChannelMapping } from '../mapping/queue-channel.js';
import { AMQP_LIMITS } from '../config.js';
import { ReplyError } from '../wire/reply.js';
import { creationOf, isDurable, updateOf } from './channel-settings.js';
import { IdleQueues } from './idle-queues.js';
import { sameTable } from './headers-match.js';
import { NameLocks } from './name-locks.js';
import { Policies } from './policies.js';
import type { Removal } from './removal.js';
import { removalOf } from './removal.js';
import type { BindingRecord, ExchangeRecord, QueueRecord, VhostRecord } from './records.js';
import {
  BINDING_KIND,
  bindingKey,
  bindingOfRecord,
  bindingRecord,
  EXCHANGE_KIND,
  exchangeOfRecord,
  exchangeRecord,
  QUEUE_KIND,
  queueOfRecord,
  queueRecord,
  resourceKey,
  VHOST_KIND,
} from './records.js';
import type { Binding, Exchange, ExchangeDefinition, Queue, QueueDefinition } from './types.js';
import { Vhost } from './vhost.js';

/**
 * Exchanges, queues and bindings of all virtual hosts. Durable ones are registry entries, written in the same change as
 * the channel they belong to, and followed by watching the registry; others live in this process only.
 */
export class Topology {
  readonly #broker: Broker;
  readonly #mapping: QueueChannelMapping;
  readonly #vhosts = new Map<string, Vhost>();
  /** What a registry key stood for, to know what went when it is removed. */
  readonly #known = new Map<string, () => void>();
  readonly #locks = new NameLocks();
  readonly #unwatch: (() => void)[] = [];

  readonly #idle: IdleQueues;
  readonly policies: Policies;

  /** `supervise` gets what is done without anybody waiting for it. */
  constructor(
    broker: Broker,
    mapping: QueueChannelMapping,
    clock: Clock,
    supervise: (work: Promise<void>) => void,
  ) {
    this.#broker = broker;
    this.#mapping = mapping;
    this.#idle = new IdleQueues({
      clock,
      inUse: (queue) => {
        const stats = queue.consumers > 0 ? undefined : broker.queueStats(queue.channel);
        return queue.consumers > 0 || (stats?.consumers ?? 0) + (stats?.waiters ?? 0) > 0;
      },
      onIdle: (queue) => {
        const vhost = [...this.#vhosts.values()].find((one) => one.queues.get(queue.name) === queue);
        if (vhost !== undefined) supervise(this.deleteQueue(vhost, queue));
      },
    });
    this.policies = new Policies({
      broker,
      vhost: (name) => this.#vhost(name),
      onChanged: (queue) => this.#idle.add(queue),
    });
  }

  /** Reads the registry and follows it from then on. */
  start(): void {
    const { registry } = this.#broker;
    this.#unwatch.push(
      registry.watch(VHOST_KIND, (_key, entry) => {
        if (entry !== undefined) this.#onVhost(entry.value as VhostRecord);
      }),
      registry.watch(EXCHANGE_KIND, (key, entry) =>
        this.#onExchange(key, entry as RegistryEntry<ExchangeRecord>),
      ),
      registry.watch(QUEUE_KIND, (key, entry) => this.#onQueue(key, entry as RegistryEntry<QueueRecord>)),
      registry.watch(BINDING_KIND, (key, entry) =>
        this.#onBinding(key, entry as RegistryEntry<BindingRecord>),
      ),
    );
    for (const entry of registry.list<VhostRecord>(VHOST_KIND)) this.#onVhost(entry.value);
    this.#vhost('/');
    this.#unwatch.push(...this.policies.start());
    for (const entry of registry.list<ExchangeRecord>(EXCHANGE_KIND)) this.#onExchange(entry.key, entry);
    for (const entry of registry.list<QueueRecord>(QUEUE_KIND)) this.#onQueue(entry.key, entry);
    for (const entry of registry.list<BindingRecord>(BINDING_KIND)) this.#onBinding(entry.key, entry);
  }

  stop(): void {
    this.#idle.stop();
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  /** The virtual host a client connects to, made at the first look. 402 or 530 (connection) when it is refused. */
  openVhost(name: string): Vhost {
    this.#mapping.vhostSegment(name);
    if (!this.#vhosts.has(name) && this.#vhosts.size >= AMQP_LIMITS.vhosts) {
      throw new ReplyError(
        530,
        `vhost ${name} not found: limit of ${AMQP_LIMITS.vhosts} virtual hosts is reached`,
      );
    }
    return this.#vhost(name);
  }

  get vhosts(): readonly Vhost[] {
    return [...this.#vhosts.values()];
  }

  /** What administrators noted of a virtual host. */
  aboutVhost(name: string): Omit<VhostRecord, 'name'> {
    return this.#broker.registry.get<VhostRecord>(VHOST_KIND, percentEncode(name))?.value ?? {};
  }

  /** Makes a virtual host that is there after a restart, too, whatever is in it. What `about` does not say stays as it was noted. */
  async createVhost(name: string, about: Omit<VhostRecord, 'name'> = {}): Promise<Vhost> {
    const vhost = this.openVhost(name);
    const value: VhostRecord = { ...this.aboutVhost(name), ...about, name };
    await this.#broker.change([{ do: 'put', kind: VHOST_KIND, key: percentEncode(name), value }]);
    return vhost;
  }

  /** Deletes a virtual host with all its queues and exchanges. `/` is emptied only. */
  async deleteVhost(vhost: Vhost): Promise<void> {
    for (const queue of [...vhost.queues.values()]) await this.deleteQueue(vhost, queue);
    for (const exchange of [...vhost.exchanges.values()]) {
      if (!exchange.name.startsWith('amq.')) await this.deleteExchange(vhost, exchange);
    }
    for (const side of ['user', 'operator'] as const) {
      for (const { name } of vhost.policies.all(side)) await this.policies.remove(vhost, side, name);
    }
    await this.#broker.change([{ do: 'remove', kind: VHOST_KIND, key: percentEncode(vhost.name) }]);
    if (vhost.name !== '/') this.#vhosts.delete(vhost.name);
  }

  /** The queue was used: a queue that expires begins its time anew. */
  touch(queue: Queue): void {
    this.#idle.touch(queue);
  }

  knownVhost(name: string): Vhost | undefined {
    return this.#vhosts.get(name);
  }

  #vhost(name: string): Vhost {
    let vhost = this.#vhosts.get(name);
    if (vhost === undefined) this.#vhosts.set(name, (vhost = new Vhost(name)));
    return vhost;
  }

  /** The channel of a queue; 406 when the name cannot be mapped. */
  channelOf(vhost: Vhost, queue: string): QueueDefinition['channel'] {
    return this.#mapping.channelOf(this.#mapping.vhostSegment(vhost.name), queue);
  }

  /**
   * Makes a queue and its channel, unless it is there by now; gives the queue that is there afterwards. `define` says what it
   * is, or refuses it, knowing how many queues there are, with those that are being made. Messages and settings of an existing
   * channel (an alias, or made by another protocol) are left alone.
   */
  async createQueue(vhost: Vhost, name: string, define: (queues: number) => QueueDefinition): Promise<Queue> {
    return this.#locks.run([queueLock(vhost, name)], async () => {
      const known = vhost.queues.get(name);
      if (known !== undefined) return known;
      const definition = define(vhost.queueCount);
      const release = vhost.expectQueue(name);
      return this.#makeQueue(vhost, definition).finally(release);
    });
  }

  async #makeQueue(vhost: Vhost, definition: QueueDefinition): Promise<Queue> {
    const made = vhost.resolve(definition);
    const changes: Change[] = [creationOf(vhost.name, definition, made)];
    if (isDurable(definition)) {
      const key = resourceKey(vhost.name, definition.name);
      changes.push({ do: 'put', kind: QUEUE_KIND, key, value: queueRecord(vhost.name, definition) });
    }
    await this.#broker.change(changes);
    const queue = this.#putQueue(vhost, definition);
    // A policy may have changed meanwhile.
    if (!sameTable(queue.effective, made.effective)) {
      await this.#broker.change(updateOf(this.#broker, vhost.name, queue));
    }
    return queue;
  }

  /** Deletes a queue with its messages and bindings, and auto-delete exchanges that lose their last binding. */
  async deleteQueue(vhost: Vhost, queue: Queue): Promise<void> {
    const destination = { kind: 'queue', name: queue.name } as const;
    const { sources } = removalOf(vhost, vhost.bindingsTo(destination));
    const locks = [queueLock(vhost, queue.name), ...exchangeLocks(vhost, sources)];
    await this.#locks.run(locks, async () => {
      if (!queue.alive) return;
      const changes: Change[] = [];
      // An alias was made by the operator and its channel is somebody else's: only our name for it goes.
      if (this.#broker.resolve(queue.channel) === queue.channel) {
        changes.push({
          do: queue.type === 'stream' ? 'delete-log' : 'delete-queue',
          channel: queue.channel,
        });
      }
      if (isDurable(queue)) {
        changes.push({ do: 'remove', kind: QUEUE_KIND, key: resourceKey(vhost.name, queue.name) });
      }
      const gone = removalOf(vhost, vhost.bindingsTo(destination));
      await this.#broker.change([...changes, ...gone.changes]);
      gone.apply();
      vhost.removeQueue(queue.name);
    });
  }

  async createExchange(vhost: Vhost, exchange: ExchangeDefinition): Promise<void> {
    await this.#locks.run([exchangeLock(vhost, exchange.name)], async () => {
      if (vhost.exchanges.has(exchange.name)) return;
      if (exchange.durable) {
        const key = resourceKey(vhost.name, exchange.name);
        const value = exchangeRecord(vhost.name, exchange);
        await this.#broker.change([{ do: 'put', kind: EXCHANGE_KIND, key, value }]);
      }
      vhost.putExchange(exchange);
    });
  }

  /** Deletes an exchange with all bindings from and to it. */
  async deleteExchange(vhost: Vhost, exchange: Exchange): Promise<void> {
    const { name } = exchange;
    const removal = (): Removal =>
      removalOf(vhost, [...vhost.bindingsFrom(name), ...vhost.bindingsTo({ kind: 'exchange', name })], name);
    await this.#locks.run(exchangeLocks(vhost, new Set([name, ...removal().sources])), async () => {
      if (vhost.exchanges.get(name) !== exchange) return;
      const gone = removal();
      const changes: Change[] = [...gone.changes];
      if (exchange.durable) {
        changes.push({ do: 'remove', kind: EXCHANGE_KIND, key: resourceKey(vhost.name, name) });
      }
      if (changes.length > 0) await this.#broker.change(changes);
      gone.apply();
      vhost.removeExchange(name);
    });
  }

  async bind(vhost: Vhost, binding: Binding): Promise<void> {
    await this.#locks.run(locksOf(vhost, binding), async () => {
      if (vhost.findBinding(binding) !== undefined) return;
      if (binding.durable) {
        const key = bindingKey(vhost.name, binding);
        const value = bindingRecord(vhost.name, binding);
        await this.#broker.change([{ do: 'put', kind: BINDING_KIND, key, value }]);
      }
      vhost.putBinding(binding);
    });
  }

  /** Removes a binding if it is there, and its source when that was its last one and it is auto-delete. */
  async unbind(vhost: Vhost, wanted: Binding): Promise<void> {
    const known = vhost.findBinding(wanted);
    const sources = known === undefined ? [] : removalOf(vhost, [known]).sources;
    const locks = new Set([...locksOf(vhost, wanted), ...exchangeLocks(vhost, sources)]);
    await this.#locks.run([...locks], async () => {
      const binding = vhost.findBinding(wanted);
      if (binding === undefined) return;
      const gone = removalOf(vhost, [binding]);
      if (gone.changes.length > 0) await this.#broker.change(gone.changes);
      gone.apply();
    });
  }

  #putQueue(vhost: Vhost, definition: QueueDefinition): Queue {
    const known = vhost.queues.get(definition.name);
    if (known !== undefined) return known;
    const queue = vhost.putQueue(definition);
    this.#idle.add(queue);
    return queue;
  }

  #onVhost({ name, defaultQueueType }: VhostRecord): void {
    this.#vhost(name).defaultQueueType = defaultQueueType;
  }

  #onExchange(key: string, entry: RegistryEntry<ExchangeRecord> | undefined): void {
    const id = `${EXCHANGE_KIND} ${key}`;
    if (entry === undefined) {
      this.#forget(id);
      return;
    }
    const vhost = this.#vhost(entry.value.vhost);
    const exchange = exchangeOfRecord(entry.value);
    vhost.putExchange(exchange);
    this.#known.set(id, () => vhost.removeExchange(exchange.name));
  }

  #onQueue(key: string, entry: RegistryEntry<QueueRecord> | undefined): void {
    const id = `${QUEUE_KIND} ${key}`;
    if (entry === undefined) {
      this.#forget(id);
      return;
    }
    const vhost = this.#vhost(entry.value.vhost);
    const queue = this.#putQueue(vhost, queueOfRecord(entry.value));
    this.#known.set(id, () => vhost.removeQueue(queue.name));
  }

  #onBinding(key: string, entry: RegistryEntry<BindingRecord> | undefined): void {
    const id = `${BINDING_KIND} ${key}`;
    if (entry === undefined) {
      this.#forget(id);
      return;
    }
    const vhost = this.#vhost(entry.value.vhost);
    const binding = bindingOfRecord(entry.value);
    vhost.putBinding(binding);
    this.#known.set(id, () => vhost.removeBinding(binding));
  }

  #forget(id: string): void {
    this.#known.get(id)?.();
    this.#known.delete(id);
  }
}

function queueLock(vhost: Vhost, name: string): string {
  return `q ${vhost.name} ${name}`;
}

function exchangeLock(vhost: Vhost, name: string): string {
  return `e ${vhost.name} ${name}`;
}

function exchangeLocks(vhost: Vhost, names: Iterable<string>): readonly string[] {
  return [...names].map((name) => exchangeLock(vhost, name));
}

function locksOf(vhost: Vhost, binding: Binding): readonly string[] {
  const { kind, name } = binding.destination;
  const destination = kind === 'queue' ? queueLock(vhost, name) : exchangeLock(vhost, name);
  return [...new Set([exchangeLock(vhost, binding.source), destination])];
}
