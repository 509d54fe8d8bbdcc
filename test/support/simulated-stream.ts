import type { Clock } from '../../src/base/clock.js';
import { BrokerError } from '../../src/core/errors.js';
import {
  PublishError,
  type Expected,
  type FencedStream,
  type StoredMessage,
} from '../../src/journal/jetstream/stream.js';
import type { Random } from './random.js';

/** How often things go wrong, each in [0, 1). */
export interface StreamFaults {
  /** A message never arrives. */
  readonly lost: number;
  /** It is stored, but the answer never comes. */
  readonly ackLost: number;
  /** It arrives long after its publisher gave up waiting. */
  readonly late: number;
  /** It is refused for want of space. */
  readonly full: number;
  /** A read or a question gets no answer. */
  readonly readLost: number;
}

export const NO_FAULTS: StreamFaults = { lost: 0, ackLost: 0, late: 0, full: 0, readLost: 0 };

const TRIP_MS_MAX = 5;
const TIMEOUT_MS = 50;
const LATE_MS_MAX = 400;

/** What one server has of a stream. */
interface Replica {
  readonly messages: readonly StoredMessage[];
  readonly lastSeq: number;
}

/** What servers hold: shared by all who are connected. */
export class SimulatedStream {
  messages: StoredMessage[] = [];
  /** How often the server that fell behind is the one that answers a question, while there is one. */
  behindShare = 0;
  #behind: Replica | undefined;
  /** A planted fault: takes whatever comes, whatever it expects. */
  isUnfenced = false;
  #lastSeq = 0;

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Stores a message unless it expects something else; its sequence, or undefined. */
  offer(subject: string, payload: Uint8Array, expected: Expected): number | undefined {
    const { isUnfenced } = this;
    if (!isUnfenced && expected.lastSeq !== undefined && expected.lastSeq !== this.#lastSeq) return undefined;
    if (!isUnfenced && expected.lastSubjectSeq !== undefined) {
      const last = this.messages.findLast((message) => message.subject === subject)?.seq ?? 0;
      if (last !== expected.lastSubjectSeq) return undefined;
    }
    this.#lastSeq += 1;
    // As on a wire: what the publisher does to its buffer later changes nothing here.
    this.messages.push({ seq: this.#lastSeq, subject, payload: Buffer.from(payload) });
    return this.#lastSeq;
  }

  /** One server applies nothing from now on, and answers questions all the same: one cut off, or a leader that is new. */
  fallBehind(share: number): void {
    this.#behind = { messages: [...this.messages], lastSeq: this.#lastSeq };
    this.behindShare = share;
  }

  /** All servers have everything. */
  catchUp(): void {
    this.#behind = undefined;
  }

  /** Whoever answers the next question. */
  answerer(random: Random): Replica {
    return this.#behind !== undefined && random.chance(this.behindShare) ? this.#behind : this;
  }

  purge(subject: string): void {
    this.messages = this.messages.filter((message) => message.subject !== subject);
  }
}

export interface ConnectionParts {
  readonly stream: SimulatedStream;
  /** The world's: of what is on its way. */
  readonly clock: Pick<Clock, 'after'>;
  /** The process's own, when it is not the world's: its timers, and what comes back to it. */
  readonly own?: { after: Clock['after']; input(run: () => void): void };
  readonly random: Random;
  readonly payloadBytesMax?: number;
}

/** One connection to a simulated stream: messages are delayed, reordered, lost; their answers too. Everything by seed and clock. */
export class SimulatedConnection implements FencedStream {
  readonly payloadBytesMax: number;
  faults: StreamFaults = NO_FAULTS;
  /** Refuses the next publish for want of space. */
  failNext = false;
  /** Nothing comes through, in either direction. */
  isSevered = false;
  /** How much longer than usual the servers take to store. */
  slowMs = 0;
  readonly #stream: SimulatedStream;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #own: { after: Clock['after']; input(run: () => void): void };
  readonly #random: Random;
  #isCut = false;

  constructor(parts: ConnectionParts) {
    const { stream, clock, random, payloadBytesMax = 1 << 20 } = parts;
    this.#stream = stream;
    this.#clock = clock;
    this.#own = parts.own ?? { after: (delayMs, run) => clock.after(delayMs, run), input: (run) => run() };
    this.#random = random;
    this.payloadBytesMax = payloadBytesMax;
  }

  /** The process is gone: what it sent may still arrive, nothing comes back. */
  cut(): void {
    this.#isCut = true;
  }

  publish(subject: string, payload: Uint8Array, expected: Expected): Promise<number> {
    const { lost, ackLost, late, full } = this.faults;
    const random = this.#random;
    const message = Buffer.from(payload);
    return new Promise((resolve, reject) => {
      if (this.#isCut) return;
      const give = (act: () => void): void => {
        if (!this.#isCut) act();
      };
      let isAnswered = false;
      const answer = (act: () => void): void => {
        if (isAnswered) return;
        isAnswered = true;
        timer.cancel();
        give(act);
      };
      const timer = this.#own.after(TIMEOUT_MS, () =>
        answer(() => reject(new PublishError('unknown', 'timeout'))),
      );
      if (random.chance(lost) || this.isSevered) return;
      const isFull = this.failNext || random.chance(full);
      this.failNext = false;
      const delayMs = random.chance(late)
        ? TIMEOUT_MS + random.below(LATE_MS_MAX)
        : random.below(TRIP_MS_MAX) + this.slowMs;
      this.#clock.after(delayMs, () => {
        const seq = isFull ? 'full' : this.#stream.offer(subject, message, expected);
        if (random.chance(ackLost)) return;
        this.#back(() =>
          answer(() => {
            if (typeof seq === 'number') resolve(seq);
            else reject(new PublishError(seq ?? 'conflict', 'refused'));
          }),
        );
      });
    });
  }

  get(seq: number): Promise<StoredMessage | undefined> {
    return this.#ask(({ messages }) => messages.find((message) => message.seq === seq));
  }

  next(seq: number): Promise<StoredMessage | undefined> {
    return this.#ask(({ messages }) => messages.find((message) => message.seq >= seq));
  }

  last(subject: string): Promise<StoredMessage | undefined> {
    return this.#ask(({ messages }) => messages.findLast((message) => message.subject === subject));
  }

  lastSeq(): Promise<number> {
    return this.#ask(({ lastSeq }) => lastSeq);
  }

  async purge(subject: string): Promise<void> {
    await this.#ask(() => this.#stream.purge(subject), 'certain');
  }

  subjects(): Promise<readonly string[]> {
    return this.#ask(({ messages }) => [...new Set(messages.map(({ subject }) => subject))], 'certain');
  }

  async freeBytes(): Promise<undefined> {
    await Promise.resolve();
    return undefined;
  }

  #ask<T>(look: (replica: Replica) => T, kind: 'question' | 'certain' = 'question'): Promise<T> {
    const isLost = this.isSevered || (kind === 'question' && this.#random.chance(this.faults.readLost));
    return new Promise((resolve, reject) => {
      if (this.#isCut) return;
      this.#clock.after(this.#random.below(TRIP_MS_MAX), () => {
        // What was asked is looked at when it gets there.
        const found = isLost ? undefined : { answer: look(this.#stream.answerer(this.#random)) };
        this.#own.input(() => {
          if (this.#isCut) return;
          // As the real one, which has tried often by then.
          if (found === undefined) reject(new BrokerError('unavailable', 'no answer'));
          else resolve(found.answer);
        });
      });
    });
  }

  /** The way back. */
  #back(act: () => void): void {
    this.#clock.after(this.#random.below(TRIP_MS_MAX), () => {
      if (!this.isSevered) this.#own.input(act);
    });
  }
}
