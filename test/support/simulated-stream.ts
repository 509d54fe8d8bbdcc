import type { ManualClock } from '../../src/base/clock.js';
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

/** What servers hold: shared by all who are connected. */
export class SimulatedStream {
  messages: StoredMessage[] = [];
  #lastSeq = 0;

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Stores a message unless it expects something else; its sequence, or undefined. */
  offer(subject: string, payload: Uint8Array, expected: Expected): number | undefined {
    if (expected.lastSeq !== undefined && expected.lastSeq !== this.#lastSeq) return undefined;
    if (expected.lastSubjectSeq !== undefined) {
      const last = this.messages.findLast((message) => message.subject === subject)?.seq ?? 0;
      if (last !== expected.lastSubjectSeq) return undefined;
    }
    this.#lastSeq += 1;
    // As on a wire: what the publisher does to its buffer later changes nothing here.
    this.messages.push({ seq: this.#lastSeq, subject, payload: Buffer.from(payload) });
    return this.#lastSeq;
  }

  purge(subject: string): void {
    this.messages = this.messages.filter((message) => message.subject !== subject);
  }
}

/** One connection to a simulated stream: messages are delayed, reordered, lost; their answers too. Everything by seed and clock. */
export class SimulatedConnection implements FencedStream {
  readonly payloadBytesMax: number;
  faults: StreamFaults = NO_FAULTS;
  /** Refuses the next publish for want of space. */
  failNext = false;
  readonly #stream: SimulatedStream;
  readonly #clock: ManualClock;
  readonly #random: Random;
  #isCut = false;

  constructor(stream: SimulatedStream, clock: ManualClock, random: Random, payloadBytesMax = 1 << 20) {
    this.#stream = stream;
    this.#clock = clock;
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
        give(act);
      };
      this.#clock.after(TIMEOUT_MS, () => answer(() => reject(new PublishError('unknown', 'timeout'))));
      if (random.chance(lost)) return;
      const isFull = this.failNext || random.chance(full);
      this.failNext = false;
      const delayMs = random.chance(late)
        ? TIMEOUT_MS + random.below(LATE_MS_MAX)
        : random.below(TRIP_MS_MAX);
      this.#clock.after(delayMs, () => {
        const seq = isFull ? 'full' : this.#stream.offer(subject, message, expected);
        if (random.chance(ackLost)) return;
        this.#clock.after(random.below(TRIP_MS_MAX), () =>
          answer(() => {
            if (typeof seq === 'number') resolve(seq);
            else reject(new PublishError(seq ?? 'conflict', 'refused'));
          }),
        );
      });
    });
  }

  get(seq: number): Promise<StoredMessage | undefined> {
    return this.#ask(() => this.#stream.messages.find((message) => message.seq === seq));
  }

  last(subject: string): Promise<StoredMessage | undefined> {
    return this.#ask(() => this.#stream.messages.findLast((message) => message.subject === subject));
  }

  lastSeq(): Promise<number> {
    return this.#ask(() => this.#stream.lastSeq);
  }

  async read(from: number, to: number, visit: (message: StoredMessage) => void): Promise<void> {
    await Promise.resolve();
    for (const message of this.#stream.messages) if (message.seq >= from && message.seq <= to) visit(message);
  }

  async purge(subject: string): Promise<void> {
    await Promise.resolve();
    if (!this.#isCut) this.#stream.purge(subject);
  }

  async subjects(): Promise<readonly string[]> {
    await Promise.resolve();
    return [...new Set(this.#stream.messages.map(({ subject }) => subject))];
  }

  async freeBytes(): Promise<undefined> {
    await Promise.resolve();
    return undefined;
  }

  #ask<T>(look: () => T): Promise<T> {
    const isLost = this.#random.chance(this.faults.readLost);
    return new Promise((resolve, reject) => {
      this.#clock.after(this.#random.below(TRIP_MS_MAX), () => {
        if (this.#isCut) return;
        if (isLost) reject(new Error('no answer'));
        else resolve(look());
      });
    });
  }
}
