/** One message that somebody has before it is durable. */
export class EarlyDelivery {
  readonly #waits: (() => void)[] = [];

  /** Runs `then` once the message is durable, or gone. */
  wait(then: () => void): void {
    this.#waits.push(then);
  }

  end(): void {
    for (const then of this.#waits.splice(0)) then();
  }
}

/**
 * Messages handed out before they are durable, by slot (ADR-0015). Their holders may acknowledge them at once; whatever would
 * let others have them waits.
 */
export class EarlyDeliveries {
  readonly #bySlot = new Map<number, EarlyDelivery>();

  get size(): number {
    return this.#bySlot.size;
  }

  begin(slot: number): EarlyDelivery {
    const delivery = new EarlyDelivery();
    this.#bySlot.set(slot, delivery);
    return delivery;
  }

  /** Whether `delivery` is of the message that has the slot now: the one it was made for may be gone. */
  isOf(slot: number, delivery: EarlyDelivery): boolean {
    return this.#bySlot.get(slot) === delivery;
  }

  at(slot: number): EarlyDelivery | undefined {
    return this.#bySlot.get(slot);
  }

  /** The message in the slot is durable, or gone. */
  end(slot: number): void {
    const delivery = this.#bySlot.get(slot);
    if (delivery === undefined) return;
    this.#bySlot.delete(slot);
    delivery.end();
  }
}
