import type { DeadlineHeap } from '../../base/deadline-heap.js';
import type { MessageTable } from './message-table.js';

/** Takes what is due off the clock, earliest first; what is due at the same time comes in the order of its numbers. */
export function takeDue(deadlines: DeadlineHeap, table: MessageTable, now: number): number[] {
  const due: number[] = [];
  let together = 0;
  for (let at = deadlines.next; at <= now;) {
    due.push(deadlines.pop(now));
    const next = deadlines.next;
    if (next === at) continue;
    sortFrom(due, together, table);
    together = due.length;
    at = next;
  }
  return due;
}

function sortFrom(slots: number[], from: number, table: MessageTable): void {
  if (slots.length - from < 2) return;
  const together = slots.slice(from).sort((a, b) => table.sequence(a) - table.sequence(b));
  for (let i = 0; i < together.length; i++) slots[from + i] = together[i] as number;
}
