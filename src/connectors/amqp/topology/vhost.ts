import type { FieldTable } from '../wire/field-table.js';
import { EMPTY_TABLE } from '../wire/field-table.js';
import { headersMatch, sameTable } from './headers-match.js';
import { topicMatches, wordsOf } from './topic-match.js';
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

/** Bindings that leave one exchange. */
class SourceTable {
  readonly all: Binding[] = [];
  /** Bindings by exact key, for direct exchanges. */
  readonly byKey = new Map<string, Binding[]>();
  /** Words of the patterns, beside `all`, for topic exchanges. */
  readonly patterns: (readonly string[])[] = [];
}

/** The state of routing one message. */
interface Walk {
  readonly keys: readonly string[];
  readonly headers: () => FieldTable;
  readonly reached: Set<Queue>;
  readonly visited: Set<string>;
}

/** One virtual host: what exists in it, and where a message goes. Changed only by `Topology`. */
export class Vhost {
  readonly name: string;
  readonly exchanges = new Map<string, Exchange>();
  readonly queues = new Map<string, Queue>();
  readonly #sources = new Map<string, SourceTable>();
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
    const queue: Queue = { ...definition, consumers: 0, usedAt: 0, alive: true };
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
    if (this.findBinding(binding) !== undefined) return;
    let table = this.#sources.get(binding.source);
    if (table === undefined) this.#sources.set(binding.source, (table = new SourceTable()));
    table.all.push(binding);
    table.patterns.push(wordsOf(binding.routingKey));
    const sameKey = table.byKey.get(binding.routingKey);
    if (sameKey === undefined) table.byKey.set(binding.routingKey, [binding]);
    else sameKey.push(binding);
    this.version++;
  }

  removeBinding(binding: Binding): void {
    const table = this.#sources.get(binding.source);
    const known = this.findBinding(binding);
    if (table === undefined || known === undefined) return;
    const at = table.all.indexOf(known);
    table.all.splice(at, 1);
    table.patterns.splice(at, 1);
    const sameKey = table.byKey.get(known.routingKey)?.filter((other) => other !== known) ?? [];
    if (sameKey.length === 0) table.byKey.delete(known.routingKey);
    else table.byKey.set(known.routingKey, sameKey);
    if (table.all.length === 0) this.#sources.delete(binding.source);
    this.version++;
  }

  findBinding(wanted: Binding): Binding | undefined {
    return this.#sources
      .get(wanted.source)
      ?.byKey.get(wanted.routingKey)
      ?.find(
        (binding) =>
          sameDestination(binding.destination, wanted.destination) &&
          sameTable(binding.arguments, wanted.arguments),
      );
  }

  bindingsFrom(source: string): readonly Binding[] {
    return this.#sources.get(source)?.all ?? [];
  }

  bindingsTo(destination: Destination): readonly Binding[] {
    const found: Binding[] = [];
    for (const table of this.#sources.values()) {
      for (const binding of table.all)
        if (sameDestination(binding.destination, destination)) found.push(binding);
    }
    return found;
  }

  /**
   * The queues a message reaches, each once. `exchange` is undefined for the default exchange. Cycles between exchanges
   * are safe; an exchange that reaches no queue hands over to its alternate exchange.
   */
  route(
    exchange: Exchange | undefined,
    keys: readonly string[],
    headers: () => FieldTable,
  ): readonly Queue[] {
    const walk: Walk = { keys, headers, reached: new Set(), visited: new Set() };
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
    for (const key of walk.keys) {
      for (const binding of this.#matching(exchange, key, walk.headers)) {
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

  #matching(exchange: Exchange, key: string, headers: () => FieldTable): readonly Binding[] {
    const table = this.#sources.get(exchange.name);
    if (table === undefined) return [];
    switch (exchange.type) {
      case 'direct':
        return table.byKey.get(key) ?? [];
      case 'fanout':
        return table.all;
      case 'topic': {
        const words = wordsOf(key);
        return table.all.filter((_, i) => topicMatches(table.patterns[i] ?? [], words));
      }
      case 'headers': {
        const wanted = headers();
        return table.all.filter((binding) => headersMatch(binding.arguments, wanted));
      }
    }
  }

  #reachQueue(name: string, walk: Walk): void {
    const queue = this.queues.get(name);
    if (queue !== undefined) walk.reached.add(queue);
  }
}

function sameDestination(a: Destination, b: Destination): boolean {
  return a.kind === b.kind && a.name === b.name;
}
