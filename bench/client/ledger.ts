const SENT = 1;
const CONFIRMED = 2;
/** Of the first copy; each further one has the next bit. */
const RECEIVED = 4;
const COPIES_MAX = 14;

export interface LedgerCounts {
  readonly sent: number;
  readonly confirmed: number;
  /** Different messages received; of messages that go to several queues, each copy. */
  readonly received: number;
  /** Receptions beyond the first of the same message. */
  readonly duplicated: number;
  /** Confirmed and never received, by copies. */
  readonly lost: number;
  /** Bodies that no message of this run has. */
  readonly foreign: number;
}

/** Remembers what happened to every sequence number of a run. */
export class Ledger {
  #states = new Uint16Array(1 << 16);
  #sentAt = new Float64Array(0);
  readonly #timed: boolean;
  readonly #copies: number;
  #next = 0;
  #confirmed = 0;
  #received = 0;
  #duplicated = 0;
  #foreign = 0;
  readonly latenciesMs: number[] = [];

  /**
   * `timed`: also keep when each message was sent, and how long it took to arrive. `copies`: how many queues get each message,
   * at most 14.
   */
  constructor(timed = false, copies = 1) {
    if (copies > COPIES_MAX) throw new Error(`a ledger has room for ${String(COPIES_MAX)} copies`);
    this.#timed = timed;
    this.#copies = copies;
    if (timed) this.#sentAt = new Float64Array(1 << 16);
  }

  get sent(): number {
    return this.#next;
  }

  get confirmed(): number {
    return this.#confirmed;
  }

  get received(): number {
    return this.#received;
  }

  /** Whether every copy of everything sent was received. */
  get complete(): boolean {
    return this.#received >= this.#next * this.#copies;
  }

  /** The next sequence number, noted as sent. */
  send(): number {
    const sequence = this.#next++;
    if (sequence >= this.#states.length) this.#grow();
    this.#states[sequence] = SENT;
    if (this.#timed) this.#sentAt[sequence] = performance.now();
    return sequence;
  }

  confirm(sequence: number): void {
    const state = this.#states[sequence] ?? 0;
    if ((state & CONFIRMED) !== 0) return;
    this.#states[sequence] = state | CONFIRMED;
    this.#confirmed++;
  }

  /** `copy`: in which of the queues, from 0. */
  receive(sequence: number, copy = 0): void {
    const received = RECEIVED << copy;
    const state = sequence < 0 || sequence >= this.#next ? 0 : (this.#states[sequence] ?? 0);
    if (state === 0) {
      this.#foreign++;
    } else if ((state & received) !== 0) {
      this.#duplicated++;
    } else {
      this.#states[sequence] = state | received;
      this.#received++;
      if (this.#timed) this.latenciesMs.push(performance.now() - (this.#sentAt[sequence] ?? 0));
    }
  }

  counts(): LedgerCounts {
    let lost = 0;
    for (let sequence = 0; sequence < this.#next; sequence++) {
      const state = this.#states[sequence] ?? 0;
      if ((state & CONFIRMED) === 0) continue;
      for (let copy = 0; copy < this.#copies; copy++) if ((state & (RECEIVED << copy)) === 0) lost++;
    }
    return {
      sent: this.#next,
      confirmed: this.#confirmed,
      received: this.#received,
      duplicated: this.#duplicated,
      lost,
      foreign: this.#foreign,
    };
  }

  #grow(): void {
    const states = new Uint16Array(this.#states.length * 2);
    states.set(this.#states);
    this.#states = states;
    if (!this.#timed) return;
    const sentAt = new Float64Array(this.#sentAt.length * 2);
    sentAt.set(this.#sentAt);
    this.#sentAt = sentAt;
  }
}
