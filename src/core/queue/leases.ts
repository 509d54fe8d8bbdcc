import type { CoreContext } from '../core-context.js';
import { MessageOut } from './delivery.js';
import type { Effects } from './effects.js';
import type { Family, Queue } from './family.js';
import type { HandOut } from './types.js';

/** What is handed out, and how. */
interface Content {
  readonly bodies: readonly Uint8Array[];
  readonly handOut: HandOut;
}

/** Makes deliveries of picked messages. */
export class Leases {
  readonly #core: CoreContext;
  readonly #effects: Effects;

  constructor(core: CoreContext, effects: Effects) {
    this.#core = core;
    this.#effects = effects;
  }

  /** Picked messages become leases (or are removed, for `auto`). Those whose queue went meanwhile are left out. */
  grant(family: Family, slots: readonly number[], content: Content): MessageOut[] {
    const store = this.#core.queues;
    const { table } = store;
    const now = this.#core.clock.now();
    const { handOut } = content;
    const auto = handOut.kind === 'auto';
    const leaseEndsAt = handOut.kind === 'lease' && handOut.leaseMs > 0 ? now + handOut.leaseMs : 0;
    const out: MessageOut[] = [];
    const sequences: number[] = [];
    const source = {
      payload: NO_BYTES,
      translators: this.#core.translators,
      leaseEndsAt: auto ? undefined : leaseEndsAt,
    };
    let queue: Queue | undefined;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i] as number;
      const id = table.queue(slot);
      if (queue?.id !== id) queue = store.byId.get(id);
      if (queue === undefined) {
        store.discardPicked(slot);
        continue;
      }
      source.payload = content.bodies[i] as Uint8Array;
      store.lease(queue, slot, now, leaseEndsAt);
      out.push(new MessageOut(queue, slot, table, source));
      sequences.push(table.sequence(slot));
      if (auto) store.remove(queue, slot);
    }
    family.delivered += out.length;
    if (auto) {
      family.acknowledged += out.length;
      this.#effects.remove(family, sequences);
    } else {
      this.#effects.deliver(family, now, leaseEndsAt, sequences);
    }
    return out;
  }
}

const NO_BYTES: Uint8Array = new Uint8Array(0);
