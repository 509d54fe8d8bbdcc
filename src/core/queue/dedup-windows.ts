import { DeadlineHeap } from '../../base/deadline-heap.js';
import type { DeadlineSource } from '../../base/scheduler.js';
import type { DedupEntry, Family } from './family.js';

/** Shortest time between two looks at one window. */
const FORGET_EVERY_MS = 1000;

/** What queues remember of the ids they accepted, each for its window: also when nothing is sent any more, ids leave by their time. */
export class DedupWindows {
  /** Ids in all windows. */
  count = 0;
  /** By base id: when the oldest id of its family should be looked at. */
  readonly #ends = new DeadlineHeap();

  /** What the window knows of an id, while it does. */
  recall(family: Family, dedupId: string | undefined, now: number): DedupEntry | undefined {
    if (dedupId === undefined || family.settings.dedupWindowMs === 0) return undefined;
    const known = family.dedup.get(dedupId);
    return known === undefined || known.at + family.settings.dedupWindowMs <= now ? undefined : known;
  }

  /** Puts an accepted id into the window; ids past it leave from the front, as do the oldest of more than `limit`. */
  remember(family: Family, dedupId: string, entry: DedupEntry, limit: number): void {
    this.#delete(family, dedupId);
    this.#set(family, dedupId, entry);
    this.#shorten(family, entry.at, limit);
  }

  /** An id that a checkpoint knows. */
  restore(family: Family, dedupId: string, entry: DedupEntry): void {
    this.#delete(family, dedupId);
    this.#set(family, dedupId, entry);
  }

  /** A message that never came to be is not in the window either. */
  forget(family: Family, dedupId: string, sequence: number): void {
    if (family.dedup.get(dedupId)?.sequence === sequence) this.#delete(family, dedupId);
  }

  /** Forgets all of a family. */
  clear(family: Family): void {
    this.count -= family.dedup.size;
    family.dedup.clear();
    this.#ends.remove(family.base.id);
  }

  /** The clock's part; `familyOf` finds a family by its base's id. */
  source(familyOf: (id: number) => Family | undefined): DeadlineSource {
    const ends = this.#ends;
    const run = (now: number): void => {
      for (let id = ends.pop(now); id >= 0; id = ends.pop(now)) {
        const family = familyOf(id);
        if (family === undefined) continue;
        this.#shorten(family, now, Infinity);
        const [oldest] = family.dedup.values();
        if (oldest === undefined) continue;
        ends.set(id, Math.max(oldest.at + family.settings.dedupWindowMs, now + FORGET_EVERY_MS));
      }
    };
    return {
      get next() {
        return ends.next;
      },
      run,
    };
  }

  #set(family: Family, dedupId: string, entry: DedupEntry): void {
    family.dedup.set(dedupId, entry);
    this.count++;
    const { id } = family.base;
    if (this.#ends.of(id) === undefined) this.#ends.set(id, entry.at + family.settings.dedupWindowMs);
  }

  #delete(family: Family, dedupId: string): void {
    if (family.dedup.delete(dedupId)) this.count--;
  }

  #shorten(family: Family, now: number, limit: number): void {
    const { dedup } = family;
    const oldest = now - family.settings.dedupWindowMs;
    for (const [id, known] of dedup) {
      if (known.at > oldest && dedup.size <= limit) break;
      this.#delete(family, id);
    }
  }
}
