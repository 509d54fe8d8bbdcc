import type { Change } from '../../../core/registry/types.js';
import { BINDING_KIND, bindingKey, EXCHANGE_KIND, resourceKey } from './records.js';
import type { Binding, Exchange } from './types.js';
import type { Vhost } from './vhost.js';

/** What goes together with some bindings. */
export interface Removal {
  readonly changes: readonly Change[];
  /** Exchanges that lose a binding, or go. */
  readonly sources: ReadonlySet<string>;
  /** Takes what was removed out of the virtual host. */
  readonly apply: () => void;
}

/**
 * What goes with `bindings`: themselves, auto-delete exchanges (but `kept`) that have no other binding as source, the bindings
 * to these, and so on.
 */
export function removalOf(vhost: Vhost, bindings: Iterable<Binding>, kept?: string): Removal {
  const gone = new Set(bindings);
  const exchanges = new Map<string, Exchange>();
  const sources = new Set<string>();
  // Grows while it is walked: bindings to an exchange that goes are looked at, too.
  for (const { source } of gone) {
    sources.add(source);
    const exchange = vhost.exchanges.get(source);
    if (exchange === undefined || !exchange.autoDelete || source === kept || exchanges.has(source)) continue;
    if (!isSubset(vhost.bindingsFrom(source), gone)) continue;
    exchanges.set(source, exchange);
    for (const incoming of vhost.bindingsTo({ kind: 'exchange', name: source })) gone.add(incoming);
  }
  const changes: Change[] = [];
  for (const binding of gone) {
    if (!binding.durable) continue;
    changes.push({ do: 'remove', kind: BINDING_KIND, key: bindingKey(vhost.name, binding) });
  }
  for (const { name, durable } of exchanges.values()) {
    if (durable) changes.push({ do: 'remove', kind: EXCHANGE_KIND, key: resourceKey(vhost.name, name) });
  }
  const apply = (): void => {
    for (const binding of gone) vhost.removeBinding(binding);
    for (const name of exchanges.keys()) vhost.removeExchange(name);
  };
  return { changes, sources, apply };
}

function isSubset(some: ReadonlySet<Binding>, all: ReadonlySet<Binding>): boolean {
  for (const binding of some) if (!all.has(binding)) return false;
  return true;
}
