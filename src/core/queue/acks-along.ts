import type { CoreContext } from '../core-context.js';
import type { EntryWriter } from '../partition/entry-writer.js';
import { RecordType, writeSequences } from '../partition/records.js';
import type { Family } from './family.js';
import type { LeaseToken } from './types.js';

/** Deliveries acknowledged in the entry of a send: they leave when it is durable, and stay when it is lost. */
export class AcksAlong {
  readonly #core: CoreContext;
  readonly #tokens: readonly LeaseToken[];

  constructor(core: CoreContext, tokens: readonly LeaseToken[]) {
    this.#core = core;
    this.#tokens = tokens;
  }

  /** Whether one of them is known to the journal: then there has to be an entry. */
  get durable(): boolean {
    for (const family of this.#owned().keys()) if (family.settings.durable) return true;
    return false;
  }

  /** The slots of tokens that own their message now, by family; a token named twice counts once. */
  #owned(): Map<Family, Set<number>> {
    const { byName, table } = this.#core.queues;
    const owned = new Map<Family, Set<number>>();
    for (const token of this.#tokens) {
      const family = byName.get(token.channel)?.family;
      const slot = family?.inFlight.get(token.sequence);
      if (family === undefined || slot === undefined || table.count(slot) !== token.attempt) continue;
      const slots = owned.get(family);
      if (slots === undefined) owned.set(family, new Set([slot]));
      else slots.add(slot);
    }
    return owned;
  }

  /** Writes what the journal has to know into an open entry. */
  write(w: EntryWriter): void {
    const { table } = this.#core.queues;
    for (const [family, slots] of this.#owned()) {
      if (!family.settings.durable) continue;
      w.u8(RecordType.remove);
      w.u32(family.base.id);
      writeSequences(
        w,
        [...slots].map((slot) => table.sequence(slot)),
      );
    }
  }

  /** The entry is durable: they leave. */
  commit(): void {
    const { queues } = this.#core;
    for (const [family, slots] of this.#owned()) {
      for (const slot of slots) {
        const queue = queues.byId.get(queues.table.queue(slot));
        if (queue !== undefined) queues.remove(queue, slot);
      }
      family.acknowledged += slots.size;
    }
  }
}
