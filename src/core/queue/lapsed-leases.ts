import type { Family } from './family.js';
import { State } from './message-table.js';
import type { MessageTable } from './message-table.js';
import type { LeaseToken } from './types.js';

/** Of one family; the oldest are forgotten first. */
const LAPSED_LEASES_MAX = 10_000;

interface Lapsed {
  readonly slot: number;
  /** The message's new one: as long as the slot has it, it is the same message. */
  readonly sequence: number;
}

/**
 * Messages that went back to the tail of their queue, by the sequence that a holder of theirs knows them under: it may still
 * acknowledge them while nobody holds them. Only in memory: a restart forgets it.
 */
export class LapsedLeases {
  readonly #table: MessageTable;
  readonly #families = new WeakMap<Family, Map<number, Lapsed>>();

  constructor(table: MessageTable) {
    this.#table = table;
  }

  /** Notes what is about to get new sequences, the first of which is `newSequence`. */
  note(family: Family, slots: readonly number[], newSequence: number): void {
    if (slots.length === 0) return;
    let lapsed = this.#families.get(family);
    if (lapsed === undefined) this.#families.set(family, (lapsed = new Map<number, Lapsed>()));
    for (const [i, slot] of slots.entries()) {
      lapsed.set(this.#table.sequence(slot), { slot, sequence: newSequence + i });
    }
    for (const oldest of lapsed.keys()) {
      if (lapsed.size <= LAPSED_LEASES_MAX) break;
      lapsed.delete(oldest);
    }
  }

  /** The slot of the message that the token's holder had; -1 when there is none or somebody holds it now. */
  slotOf(family: Family, { sequence }: LeaseToken): number {
    const leases = this.#families.get(family);
    const table = this.#table;
    // Each later lease that lapsed gave it one more sequence, higher than the one before.
    for (let at = leases?.get(sequence); at !== undefined; at = leases?.get(at.sequence)) {
      const { slot } = at;
      if (table.sequence(slot) !== at.sequence) continue;
      return table.state(slot) === State.ready || table.state(slot) === State.delayed ? slot : -1;
    }
    return -1;
  }
}
