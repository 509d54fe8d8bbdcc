import { EMPTY_TABLE } from '../wire/field-table.js';
import type { Properties } from '../wire/properties.js';
import { effectiveArguments } from '../mapping/policy-definition.js';
import { queueTypeOf } from '../mapping/queue-type.js';
import { BindingTable } from './binding-table.js';
import { sameTable } from './headers-match.js';
import { PolicySet } from './policy-set.js';
import type {
  Binding,
  Destination,
  Exchange,
  ExchangeDefinition,
  ExchangeType,
  PolicyDefinition,
  Queue,
  QueueDefinition,
  QueueType,
} from './types.js';

/** Exchanges that every virtual host has, with their types. The default exchange `''` is not among them: it has no bindings. */
const SYSTEM_EXCHANGES: readonly (readonly [string, ExchangeType, boolean])[] = [
  ['amq.direct', 'direct', false],
  ['amq.fanout', 'fanout', false],
  ['amq.topic', 'topic', false],
  ['amq.headers', 'headers', false],
  ['amq.match', 'headers', false],
  ['amq.rabbitmq.trace', 'topic', true],
];

const NO_BINDINGS: ReadonlySet<Binding> = new Set();

/** The state of routing one message. */
interface Walk {
  readonly keys: readonly string[];
  readonly properties: () => Properties;
  readonly reached: Set<Queue>;
  readonly visited: Set<string>;
}

/** One virtual host: what exists in it, and where a message goes. Changed only by `Topology`. */
export class Vhost {
  readonly name: string;
  readonly exchanges = new Map<string, Exchange>();
  readonly queues = new Map<string, Queue>();
  readonly policies = new PolicySet();
  /** What its queues become that name no type; undefined: nobody has said. */
  defaultQueueType: QueueType | undefined;
  /** Names of queues that are being made. */
  readonly #expected = new Set<string>();
  readonly #sources = new Map<string, BindingTable>();
  /** Bindings by what they lead to. */
  readonly #incoming = new Map<string, Set<Binding>>();
  /** Goes up with every change: routes remembered for another version are stale. */
  version = 0;

  constructor(name: string) {
    this.name = name;
    for (const [exchange, type, internal] of SYSTEM_EXCHANGES) {
      this.putExchange({
        name: exchange,
        type,
        durable: true,
        autoDelete: false,
        internal,
        arguments: EMPTY_TABLE,
      });
    }
  }

  /** Queues there are, and those on their way: bounds are for both. */
  get queueCount(): number {
    return this.queues.size + this.#expected.size;
  }

  /** A queue is being made and counts from now on; the function takes it back when it did not come. */
  expectQueue(name: string): () => void {
    this.#expected.add(name);
    return () => void this.#expected.delete(name);
  }

  putQueue(definition: QueueDefinition): Queue {
    this.#expected.delete(definition.name);
    const known = this.queues.get(definition.name);
    if (known !== undefined) return known;
    const queue: Queue = {
      ...definition,
      ...this.resolve(definition),
      consumers: 0,
      usedAt: 0,
      alive: true,
    };
    this.queues.set(queue.name, queue);
    this.version++;
    return queue;
  }

  /** What a queue of this definition lives by, under the policies of now. */
  resolve(definition: QueueDefinition): Pick<Queue, 'type' | 'policies' | 'effective'> {
    const type = queueTypeOf(definition.arguments);
    const policies = this.policies.ofQueue(definition.name, type);
    return { type, policies, effective: effectiveArguments(definition.arguments, policies.definition) };
  }

  removeQueue(name: string): void {
    const queue = this.queues.get(name);
    if (queue === undefined) return;
    queue.alive = false;
    this.queues.delete(name);
    this.version++;
  }

  putExchange(definition: ExchangeDefinition): void {
    const policies = this.policies.ofExchange(definition.name);
    this.exchanges.set(definition.name, {
      ...definition,
      policies,
      alternate: alternateOf(definition, policies.definition),
    });
    this.version++;
  }

  /** Policies have changed: every queue and exchange is looked at again. Gives the queues that live by something else now. */
  applyPolicies(): readonly Queue[] {
    const changed: Queue[] = [];
    for (const exchange of this.exchanges.values()) {
      exchange.policies = this.policies.ofExchange(exchange.name);
      exchange.alternate = alternateOf(exchange, exchange.policies.definition);
    }
    for (const queue of this.queues.values()) {
      const { policies, effective } = this.resolve(queue);
      queue.policies = policies;
      if (sameTable(effective, queue.effective)) continue;
      queue.effective = effective;
      changed.push(queue);
    }
    this.version++;
    return changed;
  }

  removeExchange(name: string): void {
    if (this.exchanges.delete(name)) this.version++;
  }

  putBinding(binding: Binding): void {
    let table = this.#sources.get(binding.source);
    if (table?.find(binding) !== undefined) return;
    if (table === undefined) this.#sources.set(binding.source, (table = new BindingTable()));
    table.add(binding);
    const destination = destinationKey(binding.destination);
    const incoming = this.#incoming.get(destination);
    if (incoming === undefined) this.#incoming.set(destination, new Set([binding]));
    else incoming.add(binding);
    this.version++;
  }

  removeBinding(binding: Binding): void {
    const table = this.#sources.get(binding.source);
    const known = table?.find(binding);
    if (table === undefined || known === undefined) return;
    table.remove(known);
    if (table.all.size === 0) this.#sources.delete(binding.source);
    const destination = destinationKey(known.destination);
    const incoming = this.#incoming.get(destination);
    if (incoming?.delete(known) === true && incoming.size === 0) this.#incoming.delete(destination);
    this.version++;
  }

  findBinding(wanted: Binding): Binding | undefined {
    return this.#sources.get(wanted.source)?.find(wanted);
  }

  bindingsFrom(source: string): ReadonlySet<Binding> {
    return this.#sources.get(source)?.all ?? NO_BINDINGS;
  }

  bindingsTo(destination: Destination): ReadonlySet<Binding> {
    return this.#incoming.get(destinationKey(destination)) ?? NO_BINDINGS;
  }

  /**
   * The queues a message reaches, each once. `exchange` is undefined for the default exchange. Cycles between exchanges
   * are safe; an exchange that reaches no queue hands over to its alternate exchange.
   */
  route(
    exchange: Exchange | undefined,
    keys: readonly string[],
    properties: () => Properties,
  ): readonly Queue[] {
    const walk: Walk = { keys, properties, reached: new Set(), visited: new Set() };
    if (exchange === undefined) {
      for (const key of keys) this.#reachQueue(key, walk);
    } else {
      walk.visited.add(exchange.name);
      this.#follow(exchange, walk);
    }
    return [...walk.reached];
  }

  #follow(exchange: Exchange, walk: Walk): void {
    const before = walk.reached.size;
    const table = this.#sources.get(exchange.name);
    for (const key of walk.keys) {
      for (const binding of table?.match(exchange, key, walk.properties) ?? NO_BINDINGS) {
        if (binding.destination.kind === 'queue') this.#reachQueue(binding.destination.name, walk);
        else this.#followName(binding.destination.name, walk);
      }
    }
    if (walk.reached.size > before) return;
    if (exchange.alternate !== undefined) this.#followName(exchange.alternate, walk);
  }

  #followName(name: string, walk: Walk): void {
    const next = this.exchanges.get(name);
    if (next === undefined || walk.visited.has(name)) return;
    walk.visited.add(name);
    this.#follow(next, walk);
  }

  #reachQueue(name: string, walk: Walk): void {
    const queue = this.queues.get(name);
    if (queue !== undefined) walk.reached.add(queue);
  }
}

function alternateOf(exchange: ExchangeDefinition, policy: PolicyDefinition): string | undefined {
  const argument = exchange.arguments.get('alternate-exchange');
  if (argument?.tag === 'S') return Buffer.from(argument.value).toString('utf8');
  const alternate = policy['alternate-exchange'];
  return typeof alternate === 'string' ? alternate : undefined;
}

function destinationKey({ kind, name }: Destination): string {
  return `${kind} ${name}`;
}
