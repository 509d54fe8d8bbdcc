import type { Delivery } from '../../../core/queue/types.js';

/** Sequences beyond every real one, for messages whose own number is taken in their transaction. */
const STAND_IN_FROM = 2 ** 52;

/** What one Get took and what is not settled of it yet, by the sequence the client knows. */
export class Transaction {
  readonly id: string;
  readonly #open = new Map<number, Delivery>();
  #standIn = STAND_IN_FROM;

  constructor(id: string) {
    this.id = id;
  }

  /**
   * Adds a delivery; returns the sequence to show. That is its own, but sub-channels of one family count for themselves: a
   * second message with the same number gets a stand-in, so that a range always means one message each.
   */
  add(delivery: Delivery): number {
    const sequence = this.#open.has(delivery.sequence) ? this.#standIn++ : delivery.sequence;
    this.#open.set(sequence, delivery);
    return sequence;
  }

  get isComplete(): boolean {
    return this.#open.size === 0;
  }

  sequences(): number[] {
    return [...this.#open.keys()];
  }

  /** Takes messages out to settle them: all, or those of a range (each once). Unknown ones are named. */
  take(range?: readonly number[]): Taken {
    const sequences: number[] = [];
    const deliveries: Delivery[] = [];
    const unknown: number[] = [];
    for (const sequence of range === undefined ? this.sequences() : new Set(range)) {
      const delivery = this.#open.get(sequence);
      if (delivery === undefined) unknown.push(sequence);
      else {
        this.#open.delete(sequence);
        sequences.push(sequence);
        deliveries.push(delivery);
      }
    }
    return { sequences, deliveries, unknown };
  }

  /** Puts back what could not be settled. */
  putBack({ sequences, deliveries }: Taken): void {
    for (const [index, sequence] of sequences.entries()) {
      const delivery = deliveries[index];
      if (delivery !== undefined) this.#open.set(sequence, delivery);
    }
  }
}

export interface Taken {
  readonly sequences: readonly number[];
  /** At the place of its sequence. */
  readonly deliveries: readonly Delivery[];
  readonly unknown: readonly number[];
}
