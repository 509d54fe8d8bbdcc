import type { OutgoingMessage } from '../../../core/message.js';
import { AMQP_LIMITS } from '../config.js';
import type { Queue } from '../topology/types.js';
import type { Content } from '../wire/frame-writer.js';
import { ReplyError } from '../wire/reply.js';
import type { SettleHow } from './host.js';
import type { Unacked } from './unacked.js';

/** A publish that waits for its commit: one message for each queue it was routed to when it came. */
export interface HeldPublish {
  readonly exchange: string;
  readonly keys: readonly string[];
  readonly queues: readonly Queue[];
  readonly messages: readonly OutgoingMessage[];
  /** Mandatory and for no queue: what is returned at commit. */
  readonly returned: Content | undefined;
  readonly bytes: number;
}

/** A settlement that waits for the commit. */
export interface HeldSettlement {
  readonly tag: number;
  readonly unacked: Unacked;
  readonly how: SettleHow;
}

interface Held {
  readonly publishes: readonly HeldPublish[];
  readonly settlements: readonly HeldSettlement[];
}

/** Body bytes that transactions of one connection hold, all together. */
export class HeldBytes {
  #bytes = 0;

  /** 406 when that is more than one connection may hold. */
  take(bytes: number): void {
    const { transactionBytes } = AMQP_LIMITS;
    if (this.#bytes + bytes > transactionBytes) {
      throw new ReplyError(406, `transactions of a connection hold at most ${transactionBytes} bytes`);
    }
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** What a channel in tx mode holds until tx.commit or tx.rollback. */
export class Transaction {
  readonly #heldBytes: HeldBytes;
  #publishes: HeldPublish[] = [];
  #settlements: HeldSettlement[] = [];
  #messages = 0;

  constructor(heldBytes: HeldBytes) {
    this.#heldBytes = heldBytes;
  }

  publish(held: HeldPublish): void {
    const { transactionMessages } = AMQP_LIMITS;
    if (this.#messages + held.messages.length > transactionMessages) {
      throw new ReplyError(406, `a transaction has at most ${transactionMessages} messages`);
    }
    this.#heldBytes.take(held.bytes);
    this.#messages += held.messages.length;
    this.#publishes.push(held);
  }

  settle(held: HeldSettlement): void {
    this.#settlements.push(held);
  }

  /** What was published, and is held. */
  get publishes(): readonly HeldPublish[] {
    return this.#publishes;
  }

  /** What is to be settled, and is held. */
  get settlements(): readonly HeldSettlement[] {
    return this.#settlements;
  }

  /** Gives what was held, and begins anew. */
  take(): Held {
    const held = { publishes: this.#publishes, settlements: this.#settlements };
    for (const { bytes } of this.#publishes) this.#heldBytes.give(bytes);
    this.#publishes = [];
    this.#settlements = [];
    this.#messages = 0;
    return held;
  }
}
