import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import type { Family } from './family.js';
import { dropsHead } from './bounds.js';

/** Longest wait for dead letters: a journal that stands still must not hold up who only looks. */
const WAIT_MS = 5_000;

/** Where a letter goes: a queue, or a log by its name. */
type Destination = Family | ChannelName;

/** Queues a dead letter goes through in one go, each over its bound. */
const HOPS_MAX = 16;

/**
 * Dead letters that have left their queue and are not in the next one yet, for those whose answer should count them. Costs
 * nothing but for dead letters themselves.
 */
export class LettersUnderWay {
  readonly #core: CoreContext;
  /** How many are on their way into a queue or log, which is not listed when there are none. */
  readonly #into = new Map<Destination, number>();
  /** Those that leave later, read from the disk first or written to logs: it is not known where they go then. */
  readonly #read = new Set<Promise<void>>();
  /** Ends the waits under way. */
  readonly #waits = new Set<() => void>();

  constructor(core: CoreContext) {
    this.#core = core;
  }

  left(to: Destination): void {
    this.#into.set(to, (this.#into.get(to) ?? 0) + 1);
  }

  landed(to: Destination): void {
    const left = (this.#into.get(to) ?? 1) - 1;
    if (left > 0) this.#into.set(to, left);
    else this.#into.delete(to);
  }

  /** A letter leaves when `reading` is over. */
  leavesAfter(reading: Promise<void>): void {
    const forget = (): void => void this.#read.delete(over);
    const over: Promise<void> = reading.then(forget, forget);
    this.#read.add(over);
  }

  /** Resolves when those that are on their way there now have come, or cannot be; undefined when there are none. */
  awaited(to: Destination): Promise<void> | undefined {
    if (this.#into.size === 0 && this.#read.size === 0) return undefined;
    if (!this.#concern(to)) return undefined;
    return new Promise((resolve) => {
      const { timeouts, clock, scheduler } = this.#core;
      const end = (): void => {
        if (!this.#waits.delete(end)) return;
        timeouts.cancel(timer);
        resolve();
      };
      const timer = timeouts.set(clock.now() + WAIT_MS, () => {
        this.#waits.delete(end);
        resolve();
      });
      this.#waits.add(end);
      scheduler.poke();
      void this.#all(to).then(end);
    });
  }

  /** Whether one of them goes, or may go, there. */
  #concern(to: Destination): boolean {
    return this.#into.has(to) || this.#mayGoOn();
  }

  /** Whether one of them may go on to another queue as soon as it is where it goes. */
  #mayGoOn(): boolean {
    if (this.#read.size > 0) return true;
    for (const to of this.#into.keys()) {
      // A log keeps what it has.
      if (typeof to === 'string') continue;
      const { settings } = to;
      const leavesAtOnce = dropsHead(settings) || settings.messageTtlMs < 0;
      if (settings.deadLetter !== undefined && leavesAtOnce) return true;
    }
    return false;
  }

  async #all(to: Destination): Promise<void> {
    let more = true;
    for (let hops = 0; more && hops < HOPS_MAX && this.#concern(to); hops++) {
      more = this.#mayGoOn();
      await Promise.all(this.#read);
      await this.#written();
    }
  }

  /** Resolves when everything said so far is durable, or was lost: their entries go out in the order of their leaving. */
  #written(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        resolve();
      };
      this.#core.pipeline.whenDurable({ position: -1, commit: done, lose: done });
    });
  }

  /** Nobody waits any more: the broker is going away. */
  endWaits(): void {
    for (const end of [...this.#waits]) end();
  }
}
