import { notOwner, type Tenure } from '../ports/tenure.js';
import type { RegistryEntry, RegistryView } from './types.js';

/** The registry of an owner: while the tenure is not held, another node may have changed what is read here. */
export class OwnedRegistry implements RegistryView {
  readonly #registry: RegistryView;
  readonly #tenure: Tenure;

  constructor(registry: RegistryView, tenure: Tenure) {
    this.#registry = registry;
    this.#tenure = tenure;
  }

  get<T>(kind: string, key: string): RegistryEntry<T> | undefined {
    this.#check();
    return this.#registry.get(kind, key);
  }

  list<T>(kind: string): readonly RegistryEntry<T>[] {
    this.#check();
    return this.#registry.list(kind);
  }

  /** Watchers hear of what was committed, which only an owner does. */
  watch(kind: string, seen: (key: string, entry: RegistryEntry | undefined) => void): () => void {
    return this.#registry.watch(kind, seen);
  }

  #check(): void {
    if (!this.#tenure.held) throw notOwner();
  }
}
