import type { MessageTable } from './message-table.js';
import { NO_SLOT } from './message-table.js';

/** So many steps from an end are not worth remembering where they led. */
const FEW_STEPS = 4;

/** A doubly linked list of slots, linked through the table's own columns. Kept in the order of sequences by `insertBySequence`. */
export class SlotList {
  head = NO_SLOT;
  tail = NO_SLOT;
  count = 0;
  /** Where the last one went that belonged in the middle: the next one belongs near it, as a rule. */
  #lastReturn = NO_SLOT;
  /** Of the last search. */
  #steps = 0;

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
   * Puts a slot where its sequence belongs: at the end, as what is new does, or before the first one with a higher sequence. Many may
   * come back one after the other (leases end over a while, as delays do), so the search begins at the nearest of both ends and the
   * place where the last one went.
   */
  insertBySequence(table: MessageTable, slot: number): void {
    const sequence = table.sequence(slot);
    if (this.tail === NO_SLOT || table.sequence(this.tail) < sequence) {
      this.append(table, slot);
      return;
    }
    const last = this.#lastReturn;
    const fromHead = sequence - table.sequence(this.head);
    const fromTail = table.sequence(this.tail) - sequence;
    const fromLast = last === NO_SLOT ? Infinity : Math.abs(table.sequence(last) - sequence);
    const isNearLast = fromLast < fromHead && fromLast < fromTail;
    const start = isNearLast ? last : fromHead <= fromTail ? this.head : this.tail;
    this.#steps = 0;
    this.#insertBefore(table, slot, this.#firstAbove(table, start, sequence));
    // What comes back to an end is found from there: the place in the middle is kept for what belongs there.
    if (isNearLast || this.#steps > FEW_STEPS) this.#lastReturn = slot;
  }

  /** The first slot with a higher sequence, looked for from `start`; NO_SLOT when there is none. */
  #firstAbove(table: MessageTable, start: number, sequence: number): number {
    let at = start;
    if (table.sequence(at) < sequence) {
      do {
        at = table.next(at);
        this.#steps++;
      } while (at !== NO_SLOT && table.sequence(at) < sequence);
      return at;
    }
    for (let prev = prevOf(table, at); prev !== NO_SLOT; prev = prevOf(table, at)) {
      if (table.sequence(prev) < sequence) break;
      at = prev;
      this.#steps++;
    }
    return at;
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
    if (slot === this.#lastReturn) this.#lastReturn = prev;
  }
}

function prevOf(table: MessageTable, slot: number): number {
  return table.chunk(slot).prev[table.index(slot)] ?? NO_SLOT;
}
