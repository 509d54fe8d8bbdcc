import { BrokerError } from '../errors.js';

/**
 * Place of a byte in the journal: whole, rising, never reused, below 2^53. Position p lies in extent
 * floor(p / extentBytes); an entry never crosses the start of an extent unless it is larger than one.
 */
export type Position = number;

/** Bytes an entry buffer leaves free at its start; the journal writes its own header there. */
export const ENTRY_HEADER_BYTES = 24;

/** Throws when an entry has no room for its header: at the end of the log it would never be committed. */
export function checkEntry(entry: Uint8Array): void {
  if (entry.byteLength < ENTRY_HEADER_BYTES)
    throw new BrokerError('invalid-argument', 'an entry must leave room for its header');
}

export interface JournalListener {
  /** Every forced entry with a position below this is durable, every unforced one written. Called in order, once a group. */
  committed(below: Position): void;
  /**
   * Entries at or above `from` that were appended until now are not part of the log. Later appends may succeed, at new
   * positions; once one of those is durable the lost ones are gone for good. Should the process end before that, a restart may
   * find the first ones of them after all: as with any failed call, the outcome is then unknown.
   */
  lost(from: Position, error: BrokerError): void;
}

/** A consistent image of the state after all entries below `position`. */
export interface Checkpoint {
  readonly position: Position;
  readonly data: Uint8Array;
}

/** Read at scrape time: finding it may take a look at everything that is stored. */
export interface JournalSpace {
  readonly freeBytes: number;
  readonly usedBytes: number;
}

/** Plain counters, read at scrape time. */
export interface JournalStats {
  readonly entries: number;
  readonly bytes: number;
  readonly groups: number;
  readonly syncs: number;
  /** Longest and total time of the commits so far. */
  readonly commitMsMax: number;
  readonly commitMsTotal: number;
}

/**
 * An append-only log of atomic entries, the only thing that makes anything durable. Life: `checkpoint`, `replay`, `start`,
 * then everything else, then `close`. Nothing here throws synchronously but `append` after close.
 */
export interface Journal {
  readonly extentBytes: number;
  /**
   * End of the log: everything appended before lies below, everything appended later at or above. A checkpoint written for it
   * covers everything appended before.
   */
  readonly position: Position;
  /** Why sends are refused now, as people read it; undefined: they are not. Settling goes on. Asked for every send. */
  readonly shortage: string | undefined;
  /** Nothing is written any more until it is opened again. */
  readonly broken: boolean;

  /** The newest whole checkpoint, or undefined. */
  checkpoint(): Promise<Checkpoint | undefined>;
  /** Visits every whole entry from `from` on, in order: position of its first payload byte, and the payload. */
  replay(from: Position, visit: (position: Position, payload: Uint8Array) => void): Promise<void>;
  /** Opens for writing. */
  start(listener: JournalListener): void;

  /**
   * Memory of `bytes` to lay entries into; nothing is laid into `former`, which came from here, any more. A journal that has
   * this uses the memory again: whatever else is in it must have been appended, and be read through the journal alone.
   */
  arena?(bytes: number, former: Buffer): Buffer;

  /**
   * Queues one entry: `entry` holds ENTRY_HEADER_BYTES of room, then the payload. Returns the position of the first payload
   * byte. The buffer belongs to the journal from here on and must not change. It is atomic: whole or absent after a crash.
   * `forced` entries are durable when `committed` passes them; unforced ones ride along or go out within a few ms unsynced.
   */
  append(entry: Uint8Array, forced: boolean): Position;

  /** The bytes at [position, position + length) when they are in memory, else undefined. The view is read-only. */
  peek(position: Position, length: number): Uint8Array | undefined;
  /** Reads bytes from the store, reading ahead so that `peek` finds its neighbours. Rejects with `internal` when they are damaged. */
  read(position: Position, length: number): Promise<Uint8Array>;

  /** Resolves when everything appended before is durable. */
  flush(): Promise<void>;
  /** Stores a checkpoint atomically; older ones go. Resolves when it is durable. */
  writeCheckpoint(position: Position, parts: readonly Uint8Array[]): Promise<void>;
  /**
   * Extents that hold anything, rising. After a restart some may be there that nothing refers to any more (a crash came
   * between `discard` and the deletion): whoever knows discards them again.
   */
  extents(): readonly number[];
  /** Extents that nothing refers to any more and that lie below the last checkpoint. The journal may keep them for a while. */
  discard(extents: readonly number[]): void;

  space(): JournalSpace;
  stats(): JournalStats;
  /** Commits what is queued, then closes. */
  close(): Promise<void>;
}
