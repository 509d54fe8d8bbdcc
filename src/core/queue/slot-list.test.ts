import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHUNK_SLOTS, MessageTable, NO_SLOT, SLOT_BYTES } from './message-table.js';
import { SlotList } from './slot-list.js';

function slotWith(table: MessageTable, sequence: number): number {
  const slot = table.allocate(1, 0, { length: 10, bodyBytes: 7 });
  table.chunk(slot).sequence[table.index(slot)] = sequence;
  return slot;
}

function slots(table: MessageTable, list: SlotList): number[] {
  const out: number[] = [];
  for (let slot = list.head; slot >= 0; slot = table.next(slot)) out.push(slot);
  return out;
}

/** Counts the looks at slots. */
class WatchedTable extends MessageTable {
  looks = 0;

  override sequence(slot: number): number {
    this.looks++;
    return super.sequence(slot);
  }
}

describe('slot list', () => {
  it('is an array that never moves its elements', () => {
    const step = fc.tuple(
      fc.constantFrom('append' as const, 'insert' as const, 'remove' as const),
      fc.nat(1000),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const table = new MessageTable();
        const list = new SlotList();
        const model: number[] = [];
        for (const [what, n] of steps) {
          if (what === 'remove') {
            if (model.length === 0) continue;
            const [slot] = model.splice(n % model.length, 1);
            list.remove(table, slot!);
            table.release(slot!);
          } else {
            const last = model.at(-1);
            const slot = slotWith(
              table,
              what === 'append' && last !== undefined ? table.sequence(last) + 1 : n,
            );
            if (what === 'append') {
              list.insertBySequence(table, slot);
              model.push(slot);
              model.sort((a, b) => table.sequence(a) - table.sequence(b));
            } else {
              list.insertBySequence(table, slot);
              const at = model.findIndex((other) => table.sequence(other) >= n);
              const end = last === undefined || table.sequence(last) < n || at < 0;
              model.splice(end ? model.length : at, 0, slot);
            }
          }
          expect(slots(table, list)).toEqual(model);
          expect([list.count, list.head, list.tail]).toEqual([
            model.length,
            model[0] ?? NO_SLOT,
            model.at(-1) ?? NO_SLOT,
          ]);
        }
        expect(table.used).toBe(model.length);
      }),
    );
  });

  it('takes a row of returns back in a few steps each, however many came back before', () => {
    const table = new WatchedTable();
    const list = new SlotList();
    const rows = 100;
    const perRow = 100;
    const waiting = slotWith(table, rows * perRow);
    list.append(table, waiting);
    for (let row = 0; row < rows; row++) {
      // As leases that end together come back: the highest first.
      for (let n = perRow - 1; n >= 0; n--) list.insertBySequence(table, slotWith(table, row * perRow + n));
    }
    expect(table.looks).toBeLessThan(8 * rows * perRow);
    expect(slots(table, list).map((slot) => table.sequence(slot))).toEqual(
      Array.from({ length: rows * perRow + 1 }, (_, n) => n),
    );
  });

  it('goes on from where it was when the front is taken meanwhile', () => {
    const table = new WatchedTable();
    const list = new SlotList();
    list.append(table, slotWith(table, 20_000));
    for (let n = 0; n < 10_000; n++) {
      list.insertBySequence(table, slotWith(table, n));
      if (n % 3 > 0) continue;
      const front = list.head;
      list.remove(table, front);
      table.release(front);
    }
    expect(table.looks).toBeLessThan(80_000);
  });
});

describe('message table', () => {
  it('uses the slots of the gone again and grows by whole chunks', () => {
    const table = new MessageTable();
    const first = table.allocate(1, 5, { length: 10, bodyBytes: 7 });
    table.extrasOf(first).expiresAt = 7;
    table.release(first);
    expect(table.allocate(2, -1, { length: 3, bodyBytes: 1 })).toBe(first);
    expect(table.extras.size).toBe(0);
    table.keepInMemory(first, new Uint8Array(3));
    expect(table.memoryBytes).toBe(3);
    table.release(first);
    expect([table.memoryBytes, table.used, table.end]).toEqual([0, 0, 1]);
    for (let i = 0; i <= CHUNK_SLOTS; i++) table.allocate(1, i, { length: 1, bodyBytes: 1 });
    expect(table.chunks.length).toBe(2);
    expect(table.position(CHUNK_SLOTS)).toBe(CHUNK_SLOTS);
    expect(SLOT_BYTES).toBeLessThanOrEqual(64);
  });
});
