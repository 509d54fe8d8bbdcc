import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.js';
import type { Log, LogFields } from '../../src/base/log.js';
import { silentLog } from '../../src/base/log.js';
import { ENTRY_HEADER_BYTES } from '../../src/core/ports/journal.js';
import type { Journal, Position } from '../../src/core/ports/journal.js';
import { openDiskJournal } from '../../src/journal/disk/index.js';
import type { DiskJournalOptions } from '../../src/journal/disk/index.js';
import { temporaryFolder } from './folder.js';

/** What a journal said, line by line. */
export class RecordingLog implements Log {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: LogFields }[] = [];
  debug = (message: string, fields: LogFields = {}): void =>
    void this.lines.push({ level: 'debug', message, fields });
  info = (message: string, fields: LogFields = {}): void =>
    void this.lines.push({ level: 'info', message, fields });
  warn = (message: string, fields: LogFields = {}): void =>
    void this.lines.push({ level: 'warn', message, fields });
  error = (message: string, fields: LogFields = {}): void =>
    void this.lines.push({ level: 'error', message, fields });
  child = (): Log => this;
}

export interface Entry {
  readonly position: Position;
  readonly text: string;
}

export function entryOf(text: string): Uint8Array {
  const bytes = new Uint8Array(ENTRY_HEADER_BYTES + Buffer.byteLength(text));
  bytes.set(Buffer.from(text), ENTRY_HEADER_BYTES);
  return bytes;
}

/** A journal on disk with what its listener was told. */
export class OpenStore {
  readonly journal: Journal;
  readonly clock: ManualClock;
  readonly replayed: Entry[] = [];
  readonly lost: Position[] = [];
  committedBelow = 0;

  constructor(journal: Journal, clock: ManualClock) {
    this.journal = journal;
    this.clock = clock;
  }

  /** Appends and waits until it is committed or lost; resolves with its position, or undefined when it was lost. */
  readonly put = async (text: string, forced = true): Promise<Position | undefined> => {
    const losses = this.lost.length;
    const position = this.journal.append(entryOf(text), forced);
    for (let turn = 0; this.committedBelow <= position - ENTRY_HEADER_BYTES; turn++) {
      if (this.lost.length > losses) return undefined;
      if (turn > 5000) throw new Error('nothing became of the entry');
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (!forced) this.clock.advance(3);
    }
    return position;
  };
}

/** A store directory of a test. */
export class TestStore {
  readonly #folder = temporaryFolder();
  readonly #options: Partial<DiskJournalOptions>;
  #opened: Journal[] = [];
  #copies = 0;
  directory: string;

  constructor(options: Partial<DiskJournalOptions> = {}) {
    this.#options = options;
    this.directory = join(this.#folder.path, 'store');
  }

  async open(options: Partial<DiskJournalOptions> = {}): Promise<OpenStore> {
    const clock = new ManualClock();
    const journal = await openDiskJournal({
      directory: this.directory,
      extentBytes: 4096,
      minFreeBytes: 0,
      clock,
      log: silentLog,
      ...this.#options,
      ...options,
    });
    this.#opened.push(journal);
    const store = new OpenStore(journal, clock);
    const checkpoint = await journal.checkpoint();
    try {
      await journal.replay(checkpoint?.position ?? 0, (position, payload) =>
        store.replayed.push({ position, text: Buffer.from(payload).toString() }),
      );
    } catch (error) {
      await journal.close();
      throw error;
    }
    journal.start({
      committed: (below) => (store.committedBelow = below),
      lost: (from) => store.lost.push(from),
    });
    return store;
  }

  /** From now on this is a copy of the files as they are: what a killed process leaves. */
  kill(): void {
    const next = join(this.#folder.path, `store-${++this.#copies}`);
    cpSync(this.directory, next, { recursive: true, filter: (source) => !source.includes('lock-') });
    this.directory = next;
  }

  names(prefix: string): string[] {
    return readdirSync(this.directory)
      .filter((name) => name.startsWith(prefix))
      .sort();
  }

  read(name: string): Buffer {
    return readFileSync(join(this.directory, name));
  }

  write(name: string, bytes: Uint8Array): void {
    writeFileSync(join(this.directory, name), bytes);
  }

  flip(name: string, offset: number, bit = 0): void {
    const bytes = this.read(name);
    bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit);
    this.write(name, bytes);
  }

  async dispose(): Promise<void> {
    for (const journal of this.#opened) await journal.close();
    this.#folder.remove();
  }
}
