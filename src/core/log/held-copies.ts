import type { CoreContext } from '../core-context.js';
import type { Family } from '../queue/family.js';
import { State } from '../queue/message-table.js';
import type { SlotList } from '../queue/slot-list.js';
import type { EventIndex } from './event-index.js';
import type { EventLog } from './event-log.js';

/** What a family holds, by what it has to do with a log. */
export interface Content {
  /** Slots that are ready, delayed or in flight. */
  readonly slots: readonly number[];
  /** Slots on their way in, by sequence. */
  readonly arriving: readonly number[];
  /** Slots between two states. */
  readonly picked: readonly number[];
}

/** Slots that are ready, delayed or in flight. */
export function listedSlots(core: Pick<CoreContext, 'queues'>, family: Family): number[] {
  const { table } = core.queues;
  const slots: number[] = [];
  const take = (list: SlotList): void => {
    for (let slot = list.head; slot >= 0; slot = table.next(slot)) slots.push(slot);
  };
  for (const member of family.members) for (const list of member.lists) take(list);
  take(family.delayed);
  for (const slot of family.inFlight.values()) slots.push(slot);
  return slots;
}

/** All slots of a family. Looks through the whole table only while some are on their way. */
export function contentOf(core: Pick<CoreContext, 'queues'>, family: Family): Content {
  const { table, byId } = core.queues;
  const slots = listedSlots(core, family);
  let onTheWay = false;
  for (const member of family.members) if (member.arriving + member.picked > 0) onTheWay = true;
  const arriving: number[] = [];
  const picked: number[] = [];
  for (let slot = 0; onTheWay && slot < table.end; slot++) {
    const state = table.state(slot);
    if (state !== State.pending && state !== State.picked) continue;
    if (byId.get(table.queue(slot))?.family !== family) continue;
    if (state === State.pending) arriving.push(slot);
    else picked.push(slot);
  }
  arriving.sort((a, b) => table.sequence(a) - table.sequence(b));
  return { slots, arriving, picked };
}

/**
 * Which slots of a family are copies of which events of a log: a copy has its event's place in the journal. Good for the moment
 * it was made.
 */
export class HeldCopies {
  readonly #first: number;
  readonly #slots: Int32Array;
  /** Slots that are no copy of a durable event of the log. */
  readonly others: readonly number[];

  constructor(core: Pick<CoreContext, 'queues'>, log: EventLog, slots: readonly number[]) {
    const { table } = core.queues;
    const { index } = log;
    this.#first = index.first;
    this.#slots = new Int32Array(Math.max(log.committed + 1 - index.first, 0)).fill(-1);
    const sequenceAt = placesOf(index, log.committed + 1);
    const others: number[] = [];
    for (const slot of slots) {
      const sequence = sequenceAt(table.position(slot));
      if (sequence > 0) this.#slots[sequence - this.#first] = slot;
      else others.push(slot);
    }
    this.others = others;
  }

  /** The slot that is the event's copy; -1 when there is none. */
  slotOf(sequence: number): number {
    return this.#slots[sequence - this.#first] ?? -1;
  }
}

/** Finds the event that lies at a place: its sequence, or 0. */
function placesOf(index: EventIndex, end: number): (position: number) => number {
  const count = Math.max(end - index.first, 0);
  let inOrder = true;
  for (let s = index.first + 1; s < end && inOrder; s++) inOrder = index.position(s) > index.position(s - 1);
  // The cleaner moves bodies forward: then they no longer lie in the order of their numbers.
  const order = inOrder ? undefined : sortedBy(count, (i) => index.position(index.first + i));
  const sequenceOf = (i: number): number => index.first + (order === undefined ? i : (order[i] ?? 0));
  return (position) => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (index.position(sequenceOf(middle)) < position) low = middle + 1;
      else high = middle;
    }
    return low < count && index.position(sequenceOf(low)) === position ? sequenceOf(low) : 0;
  };
}

function sortedBy(count: number, key: (i: number) => number): Uint32Array {
  return new Uint32Array(count).map((_, i) => i).sort((a, b) => key(a) - key(b));
}
