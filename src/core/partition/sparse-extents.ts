import { State } from '../queue/message-table.js';
import type { PartitionState } from './checkpoint.js';

/** Extents whose shared bodies are counted in one round: one pass over all messages, and a bit for each 8 bytes of each extent. */
const LOOKS_MAX = 8;
/** No two messages begin within so many bytes: each has its own header in front. */
const GRAIN_BYTES = 8;

interface Look {
  readonly begins: Uint8Array;
  bytes: number;
}

/**
 * Finds the extents that hold little, for the cleaner. Live bytes are counted once for each that refers to them, so an extent with
 * bodies that many subscriptions share may look full for as long as one body waits: such are looked into, some each round.
 */
export class SparseExtents {
  readonly #state: PartitionState;
  /** The last one that was looked into: the next round goes on behind it. */
  #lookedInto = -1;

  constructor(state: PartitionState) {
    this.#state = state;
  }

  /** Those below `boundary` that are worth copying, the emptiest first, as far as the budget goes. */
  choose(boundary: number): Set<number> {
    const { journal, queues, limits } = this.#state.core;
    const { live } = queues;
    const below = journal.extentBytes * limits.cleanBelowShare;
    const candidates: { readonly extent: number; readonly bytes: number }[] = [];
    const doubtful: number[] = [];
    for (const extent of live.extents()) {
      if (extent >= boundary) break;
      const bytes = live.of(extent);
      if (bytes < below) candidates.push({ extent, bytes });
      else if (live.isShared(extent)) doubtful.push(extent);
    }
    if (doubtful.length > 0) {
      for (const [extent, { bytes }] of this.#lookInto(this.#next(doubtful))) {
        if (bytes < below) candidates.push({ extent, bytes });
        else if (bytes === live.of(extent)) live.unshare(extent);
      }
    }
    const chosen = new Set<number>();
    let budget = limits.cleanBytesPerRound;
    for (const { extent, bytes } of candidates.sort((a, b) => a.bytes - b.bytes)) {
      budget -= bytes;
      if (budget < 0) break;
      chosen.add(extent);
    }
    return chosen;
  }

  /** Some of them, in turn. */
  #next(extents: readonly number[]): number[] {
    const behind = extents.filter((extent) => extent > this.#lookedInto);
    const some = behind.concat(extents.slice(0, extents.length - behind.length)).slice(0, LOOKS_MAX);
    this.#lookedInto = some.at(-1) ?? -1;
    return some;
  }

  /** Bytes of the bodies in these extents, each body once. */
  #lookInto(extents: readonly number[]): Map<number, Look> {
    const { journal, queues } = this.#state.core;
    const { extentBytes } = journal;
    const { table } = queues;
    const bits = Math.ceil(extentBytes / GRAIN_BYTES);
    const looks = new Map<number, Look>();
    for (const extent of extents)
      looks.set(extent, { begins: new Uint8Array(Math.ceil(bits / 8)), bytes: 0 });
    // Neighbours lie in the same extent, as a rule.
    let extent = -1;
    let look: Look | undefined;
    const see = (position: number, length: number): void => {
      const at = Math.floor(position / extentBytes);
      if (at !== extent) look = looks.get((extent = at));
      if (look === undefined) return;
      const bit = Math.floor((position - at * extentBytes) / GRAIN_BYTES);
      const mask = 1 << (bit & 7);
      const byte = look.begins[bit >>> 3] as number;
      if ((byte & mask) !== 0) return;
      look.begins[bit >>> 3] = byte | mask;
      look.bytes += length;
    };
    for (let slot = 0; slot < table.end; slot++) {
      if (table.state(slot) !== State.free) see(table.position(slot), table.length(slot));
    }
    for (const { index } of this.#state.logs.byId.values()) {
      for (let s = index.first; s < index.end; s++) see(index.position(s), index.length(s));
    }
    return looks;
  }
}
