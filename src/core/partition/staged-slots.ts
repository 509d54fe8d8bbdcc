import type { CoreContext } from '../core-context.js';
import { listedSlots } from '../log/held-copies.js';
import { setExtras } from '../queue/arrival.js';
import type { Family, Queue } from '../queue/family.js';
import type { Stored } from '../queue/message-table.js';
import type { Arrival } from './records.js';

/** What rewinds staged, while the journal is replayed: pending until the last record of their rewind says that they are in. */
export class StagedSlots {
  readonly #core: CoreContext;
  readonly #families = new Map<Family, { readonly slots: number[]; readonly queues: Queue[] }>();

  constructor(core: CoreContext) {
    this.#core = core;
  }

  add(arrival: Arrival, position: number, stored: Stored): void {
    const { queues } = this.#core;
    const queue = queues.byId.get(arrival.queue);
    if (queue === undefined) return;
    const { family } = queue;
    family.nextSequence = Math.max(family.nextSequence, arrival.sequence + 1);
    const slot = queues.allocate(queue, arrival, position, stored);
    queues.live.share(position);
    setExtras(this.#core, slot, arrival);
    let staged = this.#families.get(family);
    if (staged === undefined) this.#families.set(family, (staged = { slots: [], queues: [] }));
    staged.slots.push(slot);
    staged.queues.push(queue);
  }

  /** Takes what the family held below `first`, and lets in what was staged from there on. Lower ones are of a rewind that was given up. */
  letIn(family: Family, first: number): void {
    const { queues } = this.#core;
    const { table } = queues;
    for (const slot of listedSlots(this.#core, family)) {
      const queue = queues.byId.get(table.queue(slot));
      if (queue !== undefined && table.sequence(slot) < first) queues.remove(queue, slot);
    }
    this.#end(family, (queue, slot) => {
      if (table.sequence(slot) < first) queues.abandon(queue, slot);
      else queues.arriveInPlace(queue, slot);
    });
  }

  /** What was staged in one channel is not to be. */
  dropIn(queue: Queue): void {
    const staged = this.#families.get(queue.family);
    if (staged === undefined) return;
    const kept = { slots: [] as number[], queues: [] as Queue[] };
    for (const [i, one] of staged.queues.entries()) {
      const slot = staged.slots[i] as number;
      if (one === queue) this.#core.queues.abandon(queue, slot);
      else {
        kept.slots.push(slot);
        kept.queues.push(one);
      }
    }
    this.#families.set(queue.family, kept);
  }

  /** What was staged is not to be. */
  drop(family: Family): void {
    this.#end(family, (queue, slot) => this.#core.queues.abandon(queue, slot));
  }

  /** Likewise for all: their rewinds ended with the process. */
  dropAll(): void {
    for (const family of [...this.#families.keys()]) this.drop(family);
  }

  /** The last first: each finds its place at the front. */
  #end(family: Family, end: (queue: Queue, slot: number) => void): void {
    const staged = this.#families.get(family);
    if (staged === undefined) return;
    this.#families.delete(family);
    const { slots, queues } = staged;
    for (let i = slots.length - 1; i >= 0; i--) {
      const queue = queues[i] as Queue;
      end(queue, slots[i] as number);
      this.#core.queues.dropIfEmpty(queue);
    }
  }
}
