/** Size of the arenas that are used again: what entries are gathered in, at full speed. */
const ARENA_BYTES = 1 << 20;
/** Free arenas that are kept; more come free only when less is written than before. */
const SPARES_MAX = 8;

/** What refers to an arena. */
export interface ArenaUse {
  readonly arena: Buffer;
  /** Runs of entries in it that may still be written or read. */
  runs: number;
  /** More entries may be laid into it. */
  open: boolean;
  /** Somebody has a view of it, and nobody knows for how long. */
  shared: boolean;
}

/**
 * Memory for entries, used again once nothing refers to it. The newest entries are kept for reading, so an arena outlives the
 * young generation: left to the collector, each would be garbage that only a collection of the whole heap finds, several
 * times a second at full speed.
 */
export class Arenas {
  readonly #uses = new WeakMap<ArrayBufferLike, ArenaUse>();
  readonly #spares: Buffer[] = [];

  /** An arena of `bytes`; nothing is laid into `former` any more. */
  take(bytes: number, former: Buffer): Buffer {
    const arena = bytes === ARENA_BYTES ? this.#take() : Buffer.allocUnsafeSlow(bytes);
    const use = this.#uses.get(former.buffer);
    if (use !== undefined) {
      use.open = false;
      this.#reuse(use);
    }
    return arena;
  }

  #take(): Buffer {
    const arena = this.#spares.pop() ?? Buffer.allocUnsafeSlow(ARENA_BYTES);
    this.#uses.set(arena.buffer, { arena, runs: 0, open: true, shared: false });
    return arena;
  }

  /** A run begins in `memory`. Undefined when that is not one of these arenas. */
  hold(memory: ArrayBufferLike): ArenaUse | undefined {
    const use = this.#uses.get(memory);
    if (use !== undefined) use.runs++;
    return use;
  }

  /** A run is neither written nor read any more. */
  release(use: ArenaUse): void {
    use.runs--;
    this.#reuse(use);
  }

  #reuse({ arena, runs, open, shared }: ArenaUse): void {
    if (runs > 0 || open || shared) return;
    this.#uses.delete(arena.buffer);
    if (this.#spares.length < SPARES_MAX) this.#spares.push(arena);
  }
}
