import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import type { DeadLetters } from './dead-letters.js';
import type { Family, Queue } from './family.js';

/** How much one look takes, and from where. */
export interface PickLimits {
  readonly only: ChannelName | undefined;
  readonly max: number;
  readonly maxBytes: number;
  readonly perSubChannelMax: number;
}

/** Chooses what is handed out next: by turns over the members of a family, by priority and place within one. */
export class Picker {
  readonly #core: CoreContext;
  readonly #deadLetters: DeadLetters;

  constructor(core: CoreContext, deadLetters: DeadLetters) {
    this.#core = core;
    this.#deadLetters = deadLetters;
  }

  /** Takes up to `max` messages that are next in turn; dead ones met on the way are buried. */
  pick(family: Family, limits: PickLimits): number[] {
    const slots: number[] = [];
    if (family.paused > 0) return slots;
    let bytes = 0;
    const only = limits.only === undefined ? undefined : this.#core.queues.byName.get(limits.only);
    if (limits.only !== undefined && only?.eligible !== true) return slots;
    while (slots.length < limits.max && bytes < limits.maxBytes) {
      const member = only ?? family.nextMember();
      if (member === undefined) break;
      const most = member.isSubChannel
        ? Math.min(limits.max, slots.length + limits.perSubChannelMax)
        : limits.max;
      const before = slots.length;
      while (slots.length < most) {
        const slot = this.#takeFront(member);
        if (slot < 0) break;
        const length = this.#core.queues.table.length(slot);
        if (slots.length > 0 && bytes + length > limits.maxBytes) {
          this.#core.queues.putBack(member, slot);
          bytes = Infinity;
          break;
        }
        slots.push(slot);
        bytes += length;
      }
      family.enroll(member);
      if (only !== undefined || (slots.length === before && member.ready > 0)) break;
    }
    return slots;
  }

  /** Picks the front message; -1 when there is none that lives. */
  #takeFront(queue: Queue): number {
    const store = this.#core.queues;
    const { table } = store;
    const { retentionMs } = queue.family.settings;
    for (;;) {
      const slot = queue.front;
      if (slot < 0) return -1;
      if (table.extras.size > 0 || retentionMs > 0) {
        const now = this.#core.clock.now();
        const expiresAt = table.extras.get(slot)?.expiresAt ?? 0;
        if (expiresAt > 0 && expiresAt <= now && !store.landed.has(slot)) {
          void this.#deadLetters.bury(queue, slot, 'expired');
          continue;
        }
        if (retentionMs > 0 && table.enqueuedAt(slot) + retentionMs <= now) {
          queue.family.expired++;
          this.#deadLetters.drop(queue, slot);
          continue;
        }
      }
      store.pick(queue, slot);
      return slot;
    }
  }

  /** Picked but not handed out: to their old places, the last first, uncounted. */
  putBack(slots: readonly number[]): void {
    const store = this.#core.queues;
    for (let i = slots.length - 1; i >= 0; i--) {
      const slot = slots[i] as number;
      const queue = store.byId.get(store.table.queue(slot));
      if (queue !== undefined) store.putBack(queue, slot);
      else store.discardPicked(slot);
    }
  }
}
