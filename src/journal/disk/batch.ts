import type { Position } from '../../core/ports/journal.js';
import type { Arenas, ArenaUse } from './arenas.js';
import type { Segment } from './segments.js';
import { copyOf, isCopied } from './views.js';

/**
 * Entries that follow each other in one segment and are written together. Entries that also follow each other in memory
 * become one run, so a batch encoded into one arena is one buffer to the system however many entries it has.
 */
export class Batch {
  readonly segment: Segment;
  readonly start: Position;
  end: Position;
  forced = false;
  entries = 0;
  state: 'gathering' | 'writing' | 'written' | 'failed' = 'gathering';
  /** Nothing follows in its segment. */
  last = false;
  durable = false;
  startedAt = 0;
  /** The first entry, to be stamped again with what is known when the write begins. */
  first: Uint8Array | undefined;

  // One slot a run, in parallel: positions rise.
  readonly #positions: Position[] = [];
  readonly #arenas: ArrayBufferLike[] = [];
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];
  readonly #uses: (ArenaUse | undefined)[] = [];
  readonly #pool: Arenas;
  /** Where in memory an entry must begin to lengthen the last run. */
  #arena: ArrayBufferLike | undefined;
  #arenaEnd = -1;

  constructor(segment: Segment, start: Position, pool: Arenas) {
    this.#pool = pool;
    this.segment = segment;
    this.start = start;
    this.end = start;
  }

  get bytes(): number {
    return this.end - this.start;
  }

  get runs(): number {
    return this.#positions.length;
  }

  add(entry: Uint8Array): void {
    const length = entry.byteLength;
    const arena = entry.buffer;
    const last = this.#lengths.length - 1;
    if (arena === this.#arena && entry.byteOffset === this.#arenaEnd) {
      this.#lengths[last] = (this.#lengths[last] as number) + length;
    } else {
      this.#positions.push(this.end);
      this.#arenas.push(arena);
      this.#offsets.push(entry.byteOffset);
      this.#lengths.push(length);
      this.#uses.push(this.#pool.hold(arena));
      this.#arena = arena;
      this.#arenaEnd = entry.byteOffset;
    }
    this.#arenaEnd += length;
    if (this.first === undefined) this.first = entry;
    this.end += length;
    this.entries += 1;
  }

  /** The runs, ready to be written one after the other. */
  buffers(): Buffer[] {
    return this.#arenas.map((arena, i) =>
      Buffer.from(arena as ArrayBuffer, this.#offsets[i], this.#lengths[i]),
    );
  }

  /** It was written, and is not read any more. */
  release(): void {
    for (const use of this.#uses) if (use !== undefined) this.#pool.release(use);
    this.#uses.length = 0;
  }

  /** The bytes at [position, position + length) when they lie in one run: the caller's for as long as it likes. */
  view(position: Position, length: number): Uint8Array | undefined {
    const positions = this.#positions;
    let low = 0;
    let high = positions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((positions[middle] as number) <= position) low = middle + 1;
      else high = middle;
    }
    const run = low - 1;
    if (run < 0) return undefined;
    const at = position - (positions[run] as number);
    if (at + length > (this.#lengths[run] as number)) return undefined;
    const offset = (this.#offsets[run] as number) + at;
    const use = this.#uses[run];
    if (use !== undefined) {
      if (isCopied(length)) return copyOf(use.arena, offset, length);
      use.shared = true;
    }
    return Buffer.from(this.#arenas[run] as ArrayBuffer, offset, length);
  }
}
