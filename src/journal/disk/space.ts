import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { FileLayer } from './file-layer.js';

/** How often the file system is asked. */
const POLL_MS = 1000;

export interface SpaceWatchOptions {
  readonly files: FileLayer;
  readonly directory: string;
  /** Below this many free bytes the store is low. */
  readonly minFreeBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Told when the store becomes low or recovers. */
  readonly onChange: (low: boolean) => void;
}

/** Watches the free space of the store's file system. */
export class SpaceWatch {
  readonly #o: SpaceWatchOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  freeBytes = 0;
  low = false;

  constructor(options: SpaceWatchOptions) {
    this.#o = options;
  }

  async start(): Promise<void> {
    await this.check();
    this.#arm();
  }

  /** A write found the disk full: nothing is accepted until the file system says otherwise. */
  full(): void {
    this.#set(true);
  }

  /** Asks now. */
  check(): Promise<void> {
    this.#running ??= this.#ask().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  async #ask(): Promise<void> {
    try {
      const { freeBytes } = await this.#o.files.space(this.#o.directory);
      this.freeBytes = freeBytes;
      this.#set(freeBytes < this.#o.minFreeBytes);
    } catch (error) {
      this.#o.log.warn('the free space of the store is unknown', { error: String(error) });
    }
  }

  #set(low: boolean): void {
    if (this.low === low || this.#stopped) return;
    this.low = low;
    const fields = { freeBytes: this.freeBytes, minFreeBytes: this.#o.minFreeBytes };
    if (low) this.#o.log.warn('the store is low on disk space', fields);
    else this.#o.log.info('the store has disk space again', fields);
    this.#o.onChange(low);
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#timer = this.#o.clock.after(POLL_MS, () => {
      void this.check().then(() => this.#arm());
    });
  }
}
