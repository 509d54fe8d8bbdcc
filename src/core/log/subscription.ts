import { BrokerError } from '../errors.js';
import type { EventLog } from './event-log.js';
import type { LogEvent, LogSubscription } from './types.js';

/** What a subscription needs of the service. */
export interface SubscriptionHost {
  read(log: EventLog, from: number, limits: { max: number; maxBytes: number }): Promise<readonly LogEvent[]>;
  saveCursor(log: EventLog, name: string, sequence: number): void;
  /** False while somebody else may own the log: nothing is answered then. */
  mayAnswer(): boolean;
  /** Calls when it is time to ask that again. */
  askAgain(wake: () => void): void;
}

/** Bodies one `next` returns at most; one event always passes. */
const NEXT_BYTES_MAX = 8 * 1024 * 1024;

export class Subscription implements LogSubscription {
  readonly #log: EventLog;
  readonly #host: SubscriptionHost;
  readonly durable: string | undefined;
  #next: number;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(log: EventLog, host: SubscriptionHost, start: { next: number; durable: string | undefined }) {
    this.#log = log;
    this.#host = host;
    this.#next = start.next;
    this.durable = start.durable;
    log.subscriptions.add(this);
  }

  async next(max: number): Promise<readonly LogEvent[]> {
    if (this.#wake !== undefined)
      throw new BrokerError('precondition', 'a subscription is read by one reader at a time');
    for (;;) {
      await this.#untilReadable();
      if (this.#log.deleted) throw new BrokerError('not-found', `log '${this.#log.name}' was deleted`);
      if (this.#closed) return [];
      // What retention took meanwhile is passed over.
      const from = Math.max(this.#next, this.#log.index.first);
      const events = await this.#host.read(this.#log, from, { max, maxBytes: NEXT_BYTES_MAX });
      // It may have been deposed while the disk was read.
      if (!this.#host.mayAnswer()) continue;
      const last = events[events.length - 1];
      this.#next = last === undefined ? from : last.sequence + 1;
      return events;
    }
  }

  /** Until there is something that may be told, or it ends. */
  async #untilReadable(): Promise<void> {
    for (;;) {
      if (this.#closed || this.#log.deleted) return;
      const mayAnswer = this.#host.mayAnswer();
      if (mayAnswer && this.#log.committed >= this.#next) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (!mayAnswer) this.#host.askAgain(resolve);
      });
      this.#wake = undefined;
    }
  }

  /** New events are durable, or the log is gone. */
  wake(): void {
    this.#wake?.();
  }

  advance(sequence: number): void {
    if (this.durable === undefined || this.#log.deleted) return;
    if (sequence <= (this.#log.cursors.get(this.durable) ?? -1)) return;
    this.#host.saveCursor(this.#log, this.durable, sequence);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#log.subscriptions.delete(this);
    this.wake();
  }
}
