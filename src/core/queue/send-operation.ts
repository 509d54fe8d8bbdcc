import { deferred, type Deferred } from '../../base/deferred.js';
import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { mintedId } from '../message-codec.js';
import type { PendingOperation } from '../partition/pipeline.js';
import type { AcksAlong } from './acks-along.js';
import type { Along } from './along.js';
import type { EarlyDelivery } from './early-deliveries.js';
import type { Queue } from './family.js';
import type { SendOutcome, SendResult } from './types.js';

const QUEUE_GONE = new BrokerError('not-found', 'the queue was deleted');

/** A message that was taken, and the result its sender gets. */
export class Acceptance implements SendResult {
  readonly ok = true;
  readonly duplicate = false;
  readonly queue: Queue;
  slot = -1;
  sequence = 0;
  enqueuedAt = 0;
  expiresAt = 0;
  delayedTo = 0;
  /** Somebody had it before it is durable. */
  early: EarlyDelivery | undefined;
  readonly dedupId: string | undefined;
  readonly #ownId: string | undefined;

  constructor(queue: Queue, { id, dedupId }: OutgoingMessage) {
    this.queue = queue;
    this.#ownId = id;
    this.dedupId = dedupId;
  }

  get channel(): ChannelName {
    return this.queue.name;
  }

  // Minting costs more than all else here, and few senders look.
  get id(): string {
    return this.#ownId ?? mintedId(this.queue.family.base.id, this.sequence);
  }
}

/** What becomes of arrivals. */
interface Ends {
  land(queue: Queue, slot: number): boolean;
  landEarly(queue: Queue, slot: number, early: EarlyDelivery): void;
  abandon(queue: Queue, slot: number, dedupId?: string): void;
}

/** One send on its way to the disk. */
export class SendOperation implements PendingOperation {
  position = -1;
  readonly size: number;
  readonly outcomes: SendOutcome[];
  #done: Deferred<readonly SendOutcome[]> | undefined;
  readonly #along: Along;
  readonly #ends: Ends;

  constructor(ends: Ends, outcomes: SendOutcome[], along: Along) {
    this.#ends = ends;
    this.outcomes = outcomes;
    this.size = outcomes.length;
    this.#along = along;
  }

  /** Its end, for the sender. Once, when nothing more can be thrown at them. */
  wait(): Promise<readonly SendOutcome[]> {
    this.#done = deferred<readonly SendOutcome[]>();
    return this.#done.promise;
  }

  get acks(): AcksAlong | undefined {
    return this.#along.acks;
  }

  get slots(): readonly number[] {
    const slots: number[] = [...(this.#along.events?.slots ?? [])];
    for (const outcome of this.outcomes) if (outcome instanceof Acceptance) slots.push(outcome.slot);
    return slots;
  }

  commit(): void {
    const { outcomes } = this;
    this.acks?.commit();
    this.#along.events?.commit();
    for (let i = 0; i < outcomes.length; i++) {
      const outcome = outcomes[i];
      if (!(outcome instanceof Acceptance)) continue;
      const { queue, slot, early } = outcome;
      if (early !== undefined) this.#ends.landEarly(queue, slot, early);
      else if (!this.#ends.land(queue, slot)) outcomes[i] = { ok: false, error: QUEUE_GONE };
    }
    this.#done?.resolve(outcomes);
  }

  /** Its sender waits no longer; it may come to be all the same. */
  refuse(error: BrokerError): void {
    this.#done?.reject(error);
  }

  lose(error: BrokerError): void {
    for (let i = this.outcomes.length - 1; i >= 0; i--) {
      const outcome = this.outcomes[i];
      if (outcome instanceof Acceptance) this.#ends.abandon(outcome.queue, outcome.slot, outcome.dedupId);
    }
    this.#along.events?.lose(error);
    this.#done?.reject(error);
  }
}
