import type { Clock } from '../../base/clock.js';
import { LIVE_LIMITS } from './limits.js';
import type { LiveMessage, LiveSink } from './types.js';

/** What the subscribers of a router share. */
export interface SubscriberHost<T> {
  readonly clock: Clock;
  /** Whether somebody still wants the message to be delivered. */
  isWanted(message: T): boolean;
  delivered(message: T): void;
  /** `isFirst`: of a row of dropped ones. */
  dropped(message: T, isFirst: boolean): void;
}

/**
 * One subscriber with what waits for it. Messages go straight to an open sink. Else they wait, some without condition; more
 * only while the subscriber takes some at all: when it took none for the time of grace, what is new is dropped. So a stuck
 * subscriber costs bounded memory, and nobody else waits for it.
 */
export class Subscriber<T extends LiveMessage> {
  readonly #sink: LiveSink<T>;
  readonly #host: SubscriberHost<T>;
  #waiting: T[] = [];
  #head = 0;
  #bytes = 0;
  /** Unix ms when it last took something while others waited. */
  #tookAt = 0;
  #isDropping = false;

  constructor(sink: LiveSink<T>, host: SubscriberHost<T>) {
    this.#sink = sink;
    this.#host = host;
  }

  /** Messages that wait. */
  get backlog(): number {
    return this.#waiting.length - this.#head;
  }

  /** It would take a message at once. */
  get isFree(): boolean {
    return this.backlog === 0 && this.#sink.open;
  }

  offer(message: T): void {
    if (this.backlog === 0) {
      if (this.#sink.open) {
        this.#give(message);
        return;
      }
      this.#tookAt = this.#host.clock.now();
    }
    if (this.#isFull(message)) {
      this.#host.dropped(message, !this.#isDropping);
      this.#isDropping = true;
      return;
    }
    this.#waiting.push(message);
    this.#bytes += message.body.byteLength;
  }

  /** The sink may have room. */
  resume(): void {
    while (this.#sink.open) {
      const message = this.#next();
      if (message === undefined) return;
      this.#tookAt = this.#host.clock.now();
      this.#isDropping = false;
      if (this.#host.isWanted(message)) this.#give(message);
    }
  }

  /** What waits, taken away. */
  takeWaiting(): readonly T[] {
    const waiting = this.#waiting.slice(this.#head);
    this.#waiting = [];
    this.#head = 0;
    this.#bytes = 0;
    return waiting;
  }

  #give(message: T): void {
    this.#sink.take(message);
    this.#host.delivered(message);
  }

  #isFull(message: T): boolean {
    const { graceMs, waitingMessagesMax, waitingBytesMax } = LIVE_LIMITS;
    const { bufferMessages = LIVE_LIMITS.bufferMessages } = this.#sink;
    const { backlog } = this;
    if (backlog > 0 && this.#bytes + message.body.byteLength > waitingBytesMax) return true;
    if (backlog < bufferMessages) return false;
    return backlog >= waitingMessagesMax || this.#host.clock.now() - this.#tookAt >= graceMs;
  }

  #next(): T | undefined {
    const message = this.#waiting[this.#head];
    if (message === undefined) return undefined;
    this.#head++;
    this.#bytes -= message.body.byteLength;
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    } else if (this.#head >= 1024 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return message;
  }
}
