/** Where confirms are written. */
export interface ConfirmSink {
  ack(publishTag: number, multiple: boolean): void;
  nack(publishTag: number): void;
}

/**
 * Publisher confirms of one channel. Publishes are numbered from 1; outcomes may come in any order, confirms leave in the
 * order of publishing, and a run of acks becomes one with `multiple`.
 */
export class Confirms {
  readonly #sink: ConfirmSink;
  #published = 0;
  /** Lowest number whose outcome is not known. */
  #next = 1;
  /** Acks known and not written: numbers up to here, beginning at `#next - #run`. */
  #run = 0;
  readonly #early = new Map<number, boolean>();

  constructor(sink: ConfirmSink) {
    this.#sink = sink;
  }

  /** The number of the next publish. */
  take(): number {
    return ++this.#published;
  }

  /** The outcome of publish `number`: stored (or rightly dropped), or refused. Call `flush` when there are no more. */
  resolve(number: number, stored: boolean): void {
    if (number !== this.#next) {
      this.#early.set(number, stored);
      return;
    }
    this.#step(stored);
    while (this.#early.size > 0) {
      const early = this.#early.get(this.#next);
      if (early === undefined) return;
      this.#early.delete(this.#next);
      this.#step(early);
    }
  }

  /** Writes acks that are known. */
  flush(): void {
    if (this.#run === 0) return;
    this.#sink.ack(this.#next - 1, this.#run > 1);
    this.#run = 0;
  }

  #step(stored: boolean): void {
    if (stored) {
      this.#next++;
      this.#run++;
      return;
    }
    this.flush();
    this.#sink.nack(this.#next++);
  }
}
