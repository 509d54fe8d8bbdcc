import type { Delivery } from '../../../core/queue/types.js';

/** Sequences beyond every real one, for messages whose own number is taken in their transaction. */
const STAND_IN_FROM = 2 ** 52;

/** What one Get took and what is not settled of it yet, by the sequence the client knows. */
export class Transaction {
  readonly id: string;
  #sequences: number[] = [];
  #deliveries: Delivery[] = [];
  /** Made when single messages are asked for; mostly all are settled at once. */
  #bySequence: Map<number, Delivery> | undefined;
  #standIn = STAND_IN_FROM;

  constructor(id: string) {
    this.id = id;
  }

  /**
   * Adds a delivery; returns the sequence to show. That is its own, but sub-channels of one family count for themselves: a
   * second message with the same number gets a stand-in, so that a range always means one message each.
   */
  add(delivery: Delivery): number {
    const last = this.#sequences[this.#sequences.length - 1] ?? 0;
    const isNew = this.#bySequence === undefined && delivery.sequence > last && last < STAND_IN_FROM;
    const sequence = isNew || !this.#open().has(delivery.sequence) ? delivery.sequence : this.#standIn++;
    if (this.#bySequence !== undefined) this.#bySequence.set(sequence, delivery);
    else {
      this.#sequences.push(sequence);
      this.#deliveries.push(delivery);
    }
    return sequence;
  }

  get isComplete(): boolean {
    return (this.#bySequence?.size ?? this.#sequences.length) === 0;
  }

  sequences(): readonly number[] {
    return this.#bySequence === undefined ? this.#sequences : [...this.#bySequence.keys()];
  }

  /** Takes messages out to settle them: all, or those of a range (each once). Unknown ones are named. */
  take(range?: readonly number[]): Taken {
    if (range === undefined && this.#bySequence === undefined) {
      const taken = { sequences: this.#sequences, deliveries: this.#deliveries, unknown: [] };
      this.#sequences = [];
      this.#deliveries = [];
      return taken;
    }
    const open = this.#open();
    const sequences: number[] = [];
    const deliveries: Delivery[] = [];
    const unknown: number[] = [];
    for (const sequence of range === undefined ? [...open.keys()] : new Set(range)) {
      const delivery = open.get(sequence);
      if (delivery === undefined) unknown.push(sequence);
      else {
        open.delete(sequence);
        sequences.push(sequence);
        deliveries.push(delivery);
      }
    }
    return { sequences, deliveries, unknown };
  }

  /** Puts back what could not be settled. */
  putBack({ sequences, deliveries }: Taken): void {
    const open = this.#open();
    for (const [index, sequence] of sequences.entries()) {
      const delivery = deliveries[index];
      if (delivery !== undefined) open.set(sequence, delivery);
    }
  }

  #open(): Map<number, Delivery> {
    if (this.#bySequence === undefined) {
      this.#bySequence = new Map(
        this.#sequences.map((sequence, at) => [sequence, this.#deliveries[at] as Delivery]),
      );
      this.#sequences = [];
      this.#deliveries = [];
    }
    return this.#bySequence;
  }
}

export interface Taken {
  readonly sequences: readonly number[];
  /** At the place of its sequence. */
  readonly deliveries: readonly Delivery[];
  readonly unknown: readonly number[];
}
