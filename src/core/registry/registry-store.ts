import type { RegistryEntry, RegistryView } from './types.js';

/** What an entry takes beside its value, and how many times as large as its JSON a value is in memory. */
const ENTRY_BYTES = 256;
const VALUE_FACTOR = 3;

type Seen = (key: string, entry: RegistryEntry | undefined) => void;

/** The connectors' resources in memory: what committed changes made of them. */
export class RegistryStore implements RegistryView {
  readonly #kinds = new Map<string, Map<string, RegistryEntry>>();
  readonly #watchers = new Map<string, Set<Seen>>();
  /** JSON bytes of each entry's value. */
  readonly #sizes = new Map<RegistryEntry, number>();
  #bytes = 0;

  /** About how much memory the entries take. */
  get memoryBytes(): number {
    return this.#sizes.size * ENTRY_BYTES + this.#bytes * VALUE_FACTOR;
  }

  get<T>(kind: string, key: string): RegistryEntry<T> | undefined {
    // The kind's owner is the only writer of it and knows its type.
    return this.#kinds.get(kind)?.get(key) as RegistryEntry<T> | undefined;
  }

  list<T>(kind: string): readonly RegistryEntry<T>[] {
    const entries = [...(this.#kinds.get(kind)?.values() ?? [])] as RegistryEntry<T>[];
    return entries.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  watch(kind: string, seen: Seen): () => void {
    let watchers = this.#watchers.get(kind);
    if (watchers === undefined) {
      watchers = new Set();
      this.#watchers.set(kind, watchers);
    }
    watchers.add(seen);
    return () => void watchers.delete(seen);
  }

  /** `size`: characters of its value as JSON. */
  put(entry: RegistryEntry, size: number): void {
    let entries = this.#kinds.get(entry.kind);
    if (entries === undefined) {
      entries = new Map();
      this.#kinds.set(entry.kind, entries);
    }
    this.#forget(entries.get(entry.key));
    this.#sizes.set(entry, size);
    this.#bytes += size;
    entries.set(entry.key, entry);
  }

  remove(kind: string, key: string): void {
    const entries = this.#kinds.get(kind);
    this.#forget(entries?.get(key));
    entries?.delete(key);
  }

  #forget(entry: RegistryEntry | undefined): void {
    if (entry === undefined) return;
    this.#bytes -= this.#sizes.get(entry) ?? 0;
    this.#sizes.delete(entry);
  }

  /** Tells the watchers of a key's kind what it holds now. `failed` hears of watchers that threw. */
  notify(kind: string, key: string, failed: (caught: unknown) => void): void {
    for (const seen of [...(this.#watchers.get(kind) ?? [])]) {
      try {
        seen(key, this.get(kind, key));
      } catch (caught) {
        failed(caught);
      }
    }
  }

  *all(): Generator<RegistryEntry> {
    for (const entries of this.#kinds.values()) yield* entries.values();
  }
}
