import type { Family } from './family.js';
import { State } from './message-table.js';
import type { QueueStore } from './queue-store.js';
import type { LeaseToken } from './types.js';

/** Of one family; the oldest are forgotten first. */
const LAPSED_LEASES_MAX = 10_000;

interface Lapsed {
  readonly slot: number;
  /** The message's new one: as long as the slot has it, in the same family, it is the same message. */
  readonly sequence: number;
}

/**
 * Messages that went back to the tail of their queue, by the sequence that a holder of theirs knows them under: it may still
 * acknowledge them while nobody holds them. Only in memory: a restart forgets it.
 */
export class LapsedLeases {
  readonly #store: QueueStore;
  readonly #families = new WeakMap<Family, Map<number, Lapsed>>();

  constructor(store: QueueStore) {
    this.#store = store;
  }

  /** Notes what is about to get new sequences, the first of which is `newSequence`. */
  note(family: Family, slots: readonly number[], newSequence: number): void {
    if (slots.length === 0) return;
    let lapsed = this.#families.get(family);
    if (lapsed === undefined) this.#families.set(family, (lapsed = new Map<number, Lapsed>()));
    for (const [i, slot] of slots.entries()) {
      lapsed.set(this.#store.table.sequence(slot), { slot, sequence: newSequence + i });
    }
    for (const oldest of lapsed.keys()) {
      if (lapsed.size <= LAPSED_LEASES_MAX) break;
      lapsed.delete(oldest);
    }
  }

  /** The slot of the message that the token's holder had; -1 when there is none or somebody holds it now. */
  slotOf(family: Family, { sequence }: LeaseToken): number {
    const leases = this.#families.get(family);
    const { table, byId } = this.#store;
    // Each later lease that lapsed gave it one more sequence, higher than the one before.
    for (let at = leases?.get(sequence); at !== undefined; at = leases?.get(at.sequence)) {
      const { slot } = at;
      // The slot may be another message's by now, and numbers are of one family only.
      if (table.sequence(slot) !== at.sequence || byId.get(table.queue(slot))?.family !== family) continue;
      return table.state(slot) === State.ready || table.state(slot) === State.delayed ? slot : -1;
    }
    return -1;
  }
}
