import { createMemoryJournal } from '../../src/journal/memory/index.js';
import type { MemoryFaults, MemoryImage, MemoryJournal } from '../../src/journal/memory/index.js';
import type { Checkpoint, Journal, JournalListener, Position } from '../../src/core/ports/journal.js';

/**
 * A memory journal that a test may take away under a running broker: what the broker still says to it afterwards goes nowhere,
 * as with a process that is no more.
 */
export class WatchedJournal implements Journal {
  readonly memory: MemoryJournal;
  readonly faults: MemoryFaults;
  /** True: `peek` finds nothing, so that every body has to be read. */
  cold = false;
  #gone = false;

  constructor(options: { readonly extentBytes: number } | { readonly image: MemoryImage }) {
    this.faults = {};
    this.memory = createMemoryJournal({ ...options, faults: this.faults });
  }

  /** Ends it as a power cut would; see `MemoryJournal.crash`. */
  crash(seed: number): MemoryImage {
    this.#gone = true;
    return this.memory.crash(seed);
  }

  get extentBytes(): number {
    return this.memory.extentBytes;
  }

  get position(): Position {
    return this.memory.position;
  }

  checkpoint(): Promise<Checkpoint | undefined> {
    return this.memory.checkpoint();
  }

  replay(from: Position, visit: (position: Position, payload: Uint8Array) => void): Promise<void> {
    return this.memory.replay(from, visit);
  }

  start(listener: JournalListener): void {
    this.memory.start(listener);
  }

  append(entry: Uint8Array, forced: boolean): Position {
    return this.#gone ? this.memory.position : this.memory.append(entry, forced);
  }

  peek(position: Position, length: number): Uint8Array | undefined {
    return this.cold ? undefined : this.memory.peek(position, length);
  }

  read(position: Position, length: number): Promise<Uint8Array> {
    return this.#gone ? never() : this.memory.read(position, length);
  }

  flush(): Promise<void> {
    return this.#gone ? never() : this.memory.flush();
  }

  writeCheckpoint(position: Position, parts: readonly Uint8Array[]): Promise<void> {
    return this.#gone ? never() : this.memory.writeCheckpoint(position, parts);
  }

  extents(): readonly number[] {
    return this.memory.extents();
  }

  discard(extents: readonly number[]): void {
    if (!this.#gone) this.memory.discard(extents);
  }

  get broken(): boolean {
    return this.memory.broken;
  }

  get shortage(): string | undefined {
    return this.memory.shortage;
  }

  space(): ReturnType<Journal['space']> {
    return this.memory.space();
  }

  stats(): ReturnType<Journal['stats']> {
    return this.memory.stats();
  }

  close(): Promise<void> {
    return this.memory.close();
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
