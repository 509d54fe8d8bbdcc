import type { Properties } from '../wire/properties.js';
import { EMPTY_TABLE } from '../wire/field-table.js';
import { chooseByHash, hashedText } from './consistent-hash.js';
import { HeadersIndex } from './headers-index.js';
import { sameTable, tableKey } from './headers-match.js';
import { TopicTrie } from './topic-trie.js';
import type { Binding, Exchange, RoutingType } from './types.js';
import { routingTypeOf } from './types.js';

/** Bindings of one exchange in the form its type looks them up in. */
interface BindingIndex {
  add(binding: Binding): void;
  remove(binding: Binding): void;
  match(exchange: Exchange, key: string, properties: () => Properties): Iterable<Binding>;
}

const NONE: readonly Binding[] = [];

class DirectIndex implements BindingIndex {
  readonly #byKey = new Map<string, Set<Binding>>();

  add(binding: Binding): void {
    const sameKey = this.#byKey.get(binding.routingKey);
    if (sameKey === undefined) this.#byKey.set(binding.routingKey, new Set([binding]));
    else sameKey.add(binding);
  }

  remove(binding: Binding): void {
    const sameKey = this.#byKey.get(binding.routingKey);
    if (sameKey?.delete(binding) === true && sameKey.size === 0) this.#byKey.delete(binding.routingKey);
  }

  match(_exchange: Exchange, key: string): Iterable<Binding> {
    return this.#byKey.get(key) ?? NONE;
  }
}

class FanoutIndex implements BindingIndex {
  protected readonly all = new Set<Binding>();

  add(binding: Binding): void {
    this.all.add(binding);
  }

  remove(binding: Binding): void {
    this.all.delete(binding);
  }

  match(_exchange: Exchange, _key: string, _properties: () => Properties): Iterable<Binding> {
    return this.all;
  }
}

class HashIndex extends FanoutIndex {
  override match(exchange: Exchange, key: string, properties: () => Properties): Iterable<Binding> {
    const chosen = chooseByHash(this.all, hashedText(exchange.arguments, key, properties));
    return chosen === undefined ? NONE : [chosen];
  }
}

class TopicIndex implements BindingIndex {
  readonly #trie = new TopicTrie();

  add(binding: Binding): void {
    this.#trie.add(binding);
  }

  remove(binding: Binding): void {
    this.#trie.remove(binding);
  }

  match(_exchange: Exchange, key: string): Iterable<Binding> {
    return this.#trie.match(key);
  }
}

class HeaderIndex implements BindingIndex {
  readonly #index = new HeadersIndex();

  add(binding: Binding): void {
    this.#index.add(binding);
  }

  remove(binding: Binding): void {
    this.#index.remove(binding);
  }

  match(_exchange: Exchange, _key: string, properties: () => Properties): Iterable<Binding> {
    return this.#index.match(properties().headers ?? EMPTY_TABLE);
  }
}

const INDEXES: Readonly<Record<RoutingType, () => BindingIndex>> = {
  direct: () => new DirectIndex(),
  fanout: () => new FanoutIndex(),
  topic: () => new TopicIndex(),
  headers: () => new HeaderIndex(),
  'x-consistent-hash': () => new HashIndex(),
};

/** Bindings that leave one exchange. */
export class BindingTable {
  readonly #all = new Set<Binding>();
  /** By ends, key and arguments; arguments that differ may still stand together. */
  readonly #byIdentity = new Map<string, Binding[]>();
  // Made at the first message: bindings may be read from the registry before their exchange is.
  #index: BindingIndex | undefined;

  get all(): ReadonlySet<Binding> {
    return this.#all;
  }

  add(binding: Binding): void {
    this.#all.add(binding);
    const identity = identityOf(binding);
    const alike = this.#byIdentity.get(identity);
    if (alike === undefined) this.#byIdentity.set(identity, [binding]);
    else alike.push(binding);
    this.#index?.add(binding);
  }

  /** The binding with the same ends, key and arguments. */
  find(wanted: Binding): Binding | undefined {
    return this.#byIdentity
      .get(identityOf(wanted))
      ?.find((binding) => sameTable(binding.arguments, wanted.arguments));
  }

  /** Removes one that `find` gave. */
  remove(binding: Binding): void {
    this.#all.delete(binding);
    const identity = identityOf(binding);
    const alike = this.#byIdentity.get(identity)?.filter((other) => other !== binding) ?? [];
    if (alike.length === 0) this.#byIdentity.delete(identity);
    else this.#byIdentity.set(identity, alike);
    this.#index?.remove(binding);
  }

  match(exchange: Exchange, key: string, properties: () => Properties): Iterable<Binding> {
    if (this.#index === undefined) {
      this.#index = INDEXES[routingTypeOf(exchange)]();
      for (const binding of this.#all) this.#index.add(binding);
    }
    return this.#index.match(exchange, key, properties);
  }
}

function identityOf({ destination, routingKey, arguments: table }: Binding): string {
  return `${destination.kind}\0${destination.name}\0${routingKey}\0${tableKey(table)}`;
}
