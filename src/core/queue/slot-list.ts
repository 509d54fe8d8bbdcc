import type { MessageTable } from './message-table.js';
import { NO_SLOT } from './message-table.js';

/** A doubly linked list of slots, linked through the table's own columns. */
export class SlotList {
  head = NO_SLOT;
  tail = NO_SLOT;
  count = 0;

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
   * Puts a slot back before the first one with a higher sequence. Looks from the front: what stands there with a lower
   * sequence are earlier returns only, so callers that return many go from the highest down and pay one step each.
   */
  insertBySequence(table: MessageTable, slot: number): void {
    const sequence = table.sequence(slot);
    if (this.tail === NO_SLOT || table.sequence(this.tail) < sequence) {
      this.append(table, slot);
      return;
    }
    let before = this.head;
    while (before !== NO_SLOT && table.sequence(before) < sequence) before = table.next(before);
    this.#insertBefore(table, slot, before);
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
  }
}
