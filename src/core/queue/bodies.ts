import type { CoreContext } from '../core-context.js';

const EMPTY = new Uint8Array(0);

/** Finds the bytes of stored messages: in memory when they are fresh, else from the journal. */
export class Bodies {
  readonly #core: CoreContext;

  constructor(core: CoreContext) {
    this.#core = core;
  }

  /** The message's bytes when they are in memory. */
  peek(slot: number): Uint8Array | undefined {
    const table = this.#core.queues.table;
    const position = table.position(slot);
    if (position < 0) return table.memory.get(slot) ?? EMPTY;
    return this.#core.journal.peek(position, table.length(slot));
  }

  async read(slot: number): Promise<Uint8Array> {
    const table = this.#core.queues.table;
    return this.peek(slot) ?? this.#core.journal.read(table.position(slot), table.length(slot));
  }

  /** All at once when they are in memory, else undefined. */
  peekAll(slots: readonly number[]): Uint8Array[] | undefined {
    const out: Uint8Array[] = [];
    for (const slot of slots) {
      const bytes = this.peek(slot);
      if (bytes === undefined) return undefined;
      out.push(bytes);
    }
    return out;
  }

  /** In order: the journal reads ahead, so that one wait usually serves many of a run. */
  async readAll(slots: readonly number[]): Promise<Uint8Array[]> {
    const out: Uint8Array[] = [];
    const { table } = this.#core.queues;
    for (const slot of slots) {
      const found = this.peek(slot);
      // The journal itself, not `read`: that would look for it in memory once more.
      out.push(found ?? (await this.#core.journal.read(table.position(slot), table.length(slot))));
    }
    return out;
  }
}
