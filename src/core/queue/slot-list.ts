import type { MessageTable } from './message-table.js';
import { NO_SLOT } from './message-table.js';

/** A doubly linked list of slots, linked through the table's own columns. */
export class SlotList {
  head = NO_SLOT;
  tail = NO_SLOT;
  count = 0;
  /** From the front to this slot sequences rise: nothing before it needs to be looked at again. */
  #risesTo = NO_SLOT;
  /** Where the last return went, at or before `#risesTo`: the next one belongs near it, as a rule. */
  #lastReturn = NO_SLOT;

  append(table: MessageTable, slot: number): void {
    const c = table.chunk(slot);
    const i = table.index(slot);
    c.next[i] = NO_SLOT;
    c.prev[i] = this.tail;
    if (this.tail === NO_SLOT) this.head = slot;
    else table.chunk(this.tail).next[table.index(this.tail)] = slot;
    this.tail = slot;
    this.count++;
  }

  /**
   * Puts a slot back: to the end when its sequence is higher than the last one's, else before the first slot with a higher
   * sequence. Many may come back one after the other (a subscriber's leases end over a while), so the search begins where the
   * last one ended.
   */
  insertBySequence(table: MessageTable, slot: number): void {
    const sequence = table.sequence(slot);
    if (this.tail === NO_SLOT || table.sequence(this.tail) < sequence) {
      const rises = this.#risesTo === this.tail;
      this.append(table, slot);
      if (rises) this.#risesTo = this.#lastReturn = slot;
      return;
    }
    if (this.#risesTo === NO_SLOT || table.sequence(this.#risesTo) < sequence) {
      this.#insertForward(table, slot, sequence);
      return;
    }
    let before = this.#lastReturn === NO_SLOT ? this.#risesTo : this.#lastReturn;
    if (table.sequence(before) < sequence) {
      do before = table.next(before);
      while (table.sequence(before) < sequence);
    } else {
      for (let prev = prevOf(table, before); prev !== NO_SLOT; prev = prevOf(table, before)) {
        if (table.sequence(prev) < sequence) break;
        before = prev;
      }
    }
    this.#insertBefore(table, slot, before);
    this.#lastReturn = slot;
  }

  /** Looks behind the part that is known to rise, and makes it longer as far as it does. */
  #insertForward(table: MessageTable, slot: number, sequence: number): void {
    let rises = true;
    let last = this.#risesTo === NO_SLOT ? -1 : table.sequence(this.#risesTo);
    let before = this.#risesTo === NO_SLOT ? this.head : table.next(this.#risesTo);
    while (before !== NO_SLOT) {
      const here = table.sequence(before);
      if (here >= sequence) break;
      rises &&= here > last;
      if (rises) this.#risesTo = before;
      last = here;
      before = table.next(before);
    }
    this.#insertBefore(table, slot, before);
    if (rises) this.#risesTo = this.#lastReturn = slot;
  }

  #insertBefore(table: MessageTable, slot: number, before: number): void {
    if (before === NO_SLOT) {
      this.append(table, slot);
      return;
    }
    const b = table.chunk(before);
    const bi = table.index(before);
    const prev = b.prev[bi] ?? NO_SLOT;
    const c = table.chunk(slot);
    const i = table.index(slot);
    c.next[i] = before;
    c.prev[i] = prev;
    b.prev[bi] = slot;
    if (prev === NO_SLOT) this.head = slot;
    else table.chunk(prev).next[table.index(prev)] = slot;
    this.count++;
  }

  remove(table: MessageTable, slot: number): void {
    const c = table.chunk(slot);
    const i = table.index(slot);
    const next = c.next[i] ?? NO_SLOT;
    const prev = c.prev[i] ?? NO_SLOT;
    if (prev === NO_SLOT) this.head = next;
    else table.chunk(prev).next[table.index(prev)] = next;
    if (next === NO_SLOT) this.tail = prev;
    else table.chunk(next).prev[table.index(next)] = prev;
    this.count--;
    if (slot === this.#risesTo) this.#risesTo = prev;
    if (slot === this.#lastReturn) this.#lastReturn = prev;
  }
}

function prevOf(table: MessageTable, slot: number): number {
  return table.chunk(slot).prev[table.index(slot)] ?? NO_SLOT;
}
