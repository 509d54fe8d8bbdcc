import { EMPTY_TABLE } from '../wire/field-table.js';
import type { Properties } from '../wire/properties.js';
import { queueTypeOf } from '../mapping/queue-arguments.js';
import { BindingTable } from './binding-table.js';
import type { Binding, Destination, Exchange, ExchangeType, Queue, QueueDefinition } from './types.js';

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
  readonly #sources = new Map<string, BindingTable>();
  /** Bindings by what they lead to. */
  readonly #incoming = new Map<string, Set<Binding>>();
  /** Goes up with every change: routes remembered for another version are stale. */
  version = 0;

  constructor(name: string) {
    this.name = name;
    for (const [exchange, type, internal] of SYSTEM_EXCHANGES) {
      this.exchanges.set(exchange, {
        name: exchange,
        type,
        durable: true,
        autoDelete: false,
        internal,
        arguments: EMPTY_TABLE,
      });
    }
  }

  putQueue(definition: QueueDefinition): Queue {
    const known = this.queues.get(definition.name);
    if (known !== undefined) return known;
    const type = queueTypeOf(definition.arguments);
    const queue: Queue = { ...definition, type, consumers: 0, usedAt: 0, alive: true };
    this.queues.set(queue.name, queue);
    this.version++;
    return queue;
  }

  removeQueue(name: string): void {
    const queue = this.queues.get(name);
    if (queue === undefined) return;
    queue.alive = false;
    this.queues.delete(name);
    this.version++;
  }

  putExchange(exchange: Exchange): void {
    this.exchanges.set(exchange.name, exchange);
    this.version++;
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
    const alternate = exchange.arguments.get('alternate-exchange');
    if (alternate?.tag === 'S') this.#followName(Buffer.from(alternate.value).toString('utf8'), walk);
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

function destinationKey({ kind, name }: Destination): string {
  return `${kind} ${name}`;
}
