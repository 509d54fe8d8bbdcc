import type { BrokerError } from '../errors.js';
import type { Position } from '../ports/journal.js';

/** An entry that is written again when its commit fails, and what follows from it. */
export interface Lasting {
  readonly entry: Uint8Array;
  readonly forced: boolean;
  readonly slots?: readonly number[];
  /** Hears where its payload is, each time it is written. */
  readonly placed?: (position: Position) => void;
  readonly size?: number;
  readonly commit: () => void;
  /** It waits to be written again, which may never be: whoever waits for it is told. More than once. */
  readonly refused?: (error: BrokerError) => void;
}

/** Entries written again after a failure, before it is known whether the journal takes any. */
export const FIRST_TRY = 16;

/**
 * Entries that must be written before anything else: they say what already holds, and their commit failed. A journal that failed once
 * may go on failing for hours, so it is tried with a few of them, and with twice as many each time those were committed.
 */
export class LostEntries {
  #entries: Lasting[] = [];
  /** Of the loss that is being told, newest first. */
  #lately: Lasting[] = [];
  #most = FIRST_TRY;

  get size(): number {
    return this.#entries.length + this.#lately.length;
  }

  /** Called newest first. A copy: the journal has written into the buffer it was given, and may look at it again. */
  add(lasting: Lasting): void {
    this.#lately.push({ ...lasting, entry: Buffer.from(lasting.entry) });
  }

  /** The loss has been told: what it took goes in front of what waits already, for that was not tried again. */
  tell(): void {
    this.#most = FIRST_TRY;
    this.#gather();
  }

  #gather(): void {
    if (this.#lately.length === 0) return;
    this.#entries = this.#lately.reverse().concat(this.#entries);
    this.#lately = [];
  }

  /** As many as are worth a try. */
  takeSome(): Lasting[] {
    this.#gather();
    return this.#entries.splice(0, this.#most);
  }

  takeAll(): Lasting[] {
    this.#gather();
    return this.#entries.splice(0);
  }

  /** Tells those who wait. */
  refuse(error: BrokerError): void {
    this.#gather();
    for (const { refused } of this.#entries) refused?.(error);
  }

  putBack(entries: readonly Lasting[]): void {
    this.#entries = entries.concat(this.#entries);
  }

  /** What `takeSome` gave was committed. */
  succeeded(): void {
    this.#most *= 2;
  }
}
