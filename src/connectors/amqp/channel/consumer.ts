import type { Consumer as BrokerConsumer } from '../../../core/queue/types.js';
import type { FieldTable } from '../wire/field-table.js';
import type { Queue } from '../topology/types.js';

/** Who decides how much a consumer may get: its channel. */
export interface ConsumerOwner {
  /** Gives credit back for what was acknowledged and written out. */
  giveBack(consumer: Consumer): void;
}

export interface ConsumerOptions {
  readonly tag: string;
  readonly queue: Queue;
  readonly noAck: boolean;
  readonly exclusive: boolean;
  /** The queue serves one consumer at a time. */
  readonly single: boolean;
  readonly priority: number;
  /** Unacknowledged deliveries it may hold. */
  readonly prefetch: number;
  /** Where it begins to read a stream. */
  readonly streamSequence: number;
  /** Time it has to acknowledge a delivery; 0 = no bound. */
  readonly ackTimeoutMs: number;
  /** As given by the client. */
  readonly arguments: FieldTable;
}

/** Starts hand-out from the broker with `credit` messages. */
export type StartHandOut = (consumer: Consumer, credit: number) => BrokerConsumer;

/**
 * One consumer of a channel. Its credit at the broker plus its unacknowledged deliveries never exceed its prefetch. Hand-out
 * also stops after a window of body bytes, until the socket has taken them.
 */
export class Consumer {
  readonly options: ConsumerOptions;
  readonly owner: ConsumerOwner;
  /** The consumer tag as a short string on the wire. */
  readonly tagBytes: Buffer;
  /** Deliveries that wait for an acknowledgement. */
  unacked = 0;
  /** The next event to read of a stream. */
  streamSequence: number;
  /** Its user may read the queue; this ends the watch over that. */
  forgetRight: () => void = () => undefined;
  readonly #start: StartHandOut;
  #handOut: BrokerConsumer | undefined;
  /** Messages the broker may still hand out. */
  #credit = 0;
  /** Body bytes handed out since credit was last given. */
  #bytesTaken = 0;
  #due = false;

  constructor(options: ConsumerOptions, owner: ConsumerOwner, start: StartHandOut) {
    this.options = options;
    this.owner = owner;
    this.#start = start;
    this.streamSequence = options.streamSequence;
    const tag = Buffer.from(options.tag, 'utf8');
    this.tagBytes = Buffer.concat([Buffer.from([tag.length]), tag]);
  }

  /**
   * Lets the broker hand out up to `credit` messages from now on. Starts hand-out when there is none, and throws then what
   * `Broker.consume` throws. Call it only while the socket has room: what was handed out counts as written then.
   */
  run(credit: number): void {
    this.#due = false;
    const bytes = this.#bytesTaken;
    this.#bytesTaken = 0;
    if (this.#handOut === undefined) {
      if (credit <= 0 && !this.#keepsPlace) return;
      this.#credit = Math.max(credit, 0);
      this.#handOut = this.#start(this, this.#credit);
      return;
    }
    const more = Math.max(credit - this.#credit, 0);
    if (more === 0 && bytes === 0) return;
    this.#credit += more;
    this.#handOut.grant(more, bytes);
  }

  /** Whether others would take its place while it takes nothing. */
  get #keepsPlace(): boolean {
    return this.options.exclusive || this.options.single;
  }

  /** Stops hand-out until `run`, unless others would take its place. */
  park(): void {
    if (!this.#keepsPlace) this.stop();
  }

  /** Likewise, also for channel.flow. What needs no acknowledgement cannot be given back, so such a consumer stops. */
  pause(): void {
    if (this.options.noAck) this.stop();
    else this.park();
  }

  stop(): void {
    this.#handOut?.cancel();
    this.#handOut = undefined;
    this.#credit = 0;
  }

  /** Ends for good. */
  end(): void {
    this.stop();
    this.forgetRight();
  }

  /** The broker handed out `count` messages of `bytes`. */
  took(count: number, bytes: number): void {
    this.#credit -= count;
    this.#bytesTaken += bytes;
  }

  /** True the first time since `run`: put it on the list of those that get credit at the end of the turn. */
  markDue(): boolean {
    if (this.#due) return false;
    this.#due = true;
    return true;
  }
}
