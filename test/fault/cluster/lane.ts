import { Patience, sleep } from '../exercise.js';
import { Violation } from '../track.js';
import { History, type Taken } from './history.js';
import { WrongAnswer, withTimeout, type Consumer, type Sender, type Wire } from './wire.js';

const SENDERS = 3;
/** More than a node holds a connection back while nobody serves. */
const ANSWER_MS = 6_000;
const AFTER_FAILURE_MS = 50;
const BETWEEN_SENDS_MS = 5;
const STALL_LOOK_MS = 200;
const STALL_MS = 1_000;

/** Longest times without a confirmed send, and without a message that came. */
export interface Pauses {
  readonly sends: number;
  readonly receives: number;
}

interface Count {
  /** When the newest came, and the longest time between two since the mark. */
  readonly at: number;
  readonly pause: number;
  readonly count: number;
}

/** Traffic of one protocol: senders and a consumer, each at a node of its own, and at the next ones while that does not work. */
export class Lane {
  readonly #wire: Wire;
  readonly #hosts: readonly string[];
  readonly #history: History;
  readonly #now: () => number;
  #isSending = true;
  #isStopped = false;
  #failure: unknown;
  #tasks: readonly Promise<void>[] = [];
  /** Refusals and breaks that the clients tried again after, by their text. */
  readonly retried = new Map<string, number>();
  #sent: Count = { at: 0, pause: 0, count: 0 };
  #received: Count = { at: 0, pause: 0, count: 0 };
  /** When this process last stood still: leases went on meanwhile. */
  #stalledAt = Number.NEGATIVE_INFINITY;
  #looked = 0;

  constructor(wire: Wire, hosts: readonly string[], now: () => number = () => performance.now()) {
    this.#wire = wire;
    this.#hosts = hosts;
    this.#history = new History(wire.name, wire.order);
    this.#now = now;
  }

  get name(): string {
    return this.#wire.name;
  }

  get summary(): string {
    const { confirmed, redelivered, late } = this.#history;
    return `${this.name} ${confirmed} confirmed, ${redelivered} came again, ${late} late`;
  }

  start(): void {
    this.mark();
    this.#isSending = true;
    const senders = Array.from({ length: SENDERS }, (_, group) => this.#send(group));
    const all = [...senders, ...(this.#tasks.length === 0 ? [this.#consume(), this.#watchForStalls()] : [])];
    this.#tasks = [...this.#tasks, ...all.map((task) => task.catch((error: unknown) => this.#fail(error)))];
  }

  /** From here on pauses are counted anew. */
  mark(): void {
    const at = this.#now();
    this.#sent = { at, pause: 0, count: 0 };
    this.#received = { at, pause: 0, count: 0 };
  }

  get pauses(): Pauses {
    const now = this.#now();
    const pause = ({ at, pause }: Count): number => Math.max(pause, now - at);
    return { sends: pause(this.#sent), receives: pause(this.#received) };
  }

  /** Throws what went wrong so far. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  /** Sends are confirmed and messages come again. */
  async flows(count: number): Promise<void> {
    const sent = this.#sent.count + count;
    const received = this.#received.count + count;
    const patience = new Patience();
    while (this.#sent.count < sent || this.#received.count < received) {
      this.check();
      if (patience.isOver) throw new Violation(`${this.name}: does not go on; ${this.#troubles}`);
      await sleep(20);
    }
  }

  /** No more sends; everything that was confirmed comes. */
  async drain(): Promise<void> {
    this.#isSending = false;
    const patience = new Patience();
    for (;;) {
      this.check();
      const { missing } = this.#history;
      if (missing.length === 0) return;
      if (patience.isOver) {
        throw new Violation(
          `${this.name}: ${missing.length} confirmed messages are lost: ${missing.slice(0, 10).join(', ')}`,
        );
      }
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    this.#isSending = false;
    this.#isStopped = true;
    await Promise.all(this.#tasks);
  }

  get channel(): string {
    return this.#wire.channel;
  }

  get #troubles(): string {
    return [...this.retried].map(([text, count]) => `${count} × ${text}`).join('; ');
  }

  /** One sender: a message after the other, each confirmed or given up before the next. */
  async #send(group: number): Promise<void> {
    let again: { readonly sequence: number; readonly since: number } | undefined;
    await this.#overAndOver<Sender>(
      group,
      (host) => this.#wire.sender(host),
      () => this.#isSending,
      async (sender) => {
        const { sequence, since } = again ?? { sequence: this.#history.send(group), since: this.#now() };
        try {
          await withTimeout(sender.send(sequence, group), ANSWER_MS);
        } catch (error) {
          // A queue that knows what it has is asked again until it says so; elsewhere it would be another message.
          const isKnown = this.#now() - since < this.#wire.deduplicatesMs / 2;
          again = isKnown ? { sequence, since } : undefined;
          if (!isKnown) this.#history.abandon(sequence);
          throw error;
        }
        again = undefined;
        this.#history.confirm(sequence);
        this.#sent = this.#counted(this.#sent);
        await sleep(BETWEEN_SENDS_MS);
      },
    );
    // What is left in doubt stays so.
    if (again !== undefined) this.#history.abandon(again.sequence);
  }

  async #consume(): Promise<void> {
    const open = async (host: string): Promise<Consumer> => {
      const consumer = await this.#wire.consumer(host);
      this.#history.connected();
      return consumer;
    };
    await this.#overAndOver<Consumer>(
      SENDERS,
      open,
      () => !this.#isStopped,
      async (consumer) => {
        const askedAt = this.#now();
        const taken = await withTimeout(consumer.take(), ANSWER_MS);
        if (taken.length === 0) return;
        for (const one of taken) this.#history.deliver(one);
        this.#received = this.#counted(this.#received);
        for (const { sequence } of taken) this.#history.acking(sequence);
        await this.#acknowledge(consumer, taken, askedAt);
      },
    );
  }

  async #acknowledge(consumer: Consumer, taken: readonly Taken[], askedAt: number): Promise<void> {
    const { leaseMs } = this.#wire;
    const isInTime = (): boolean =>
      this.#now() - askedAt < leaseMs / 2 &&
      (leaseMs === Infinity || this.#now() - this.#stalledAt > 2 * leaseMs);
    try {
      const acked = await withTimeout(consumer.ack(taken), ANSWER_MS);
      // What was acknowledged in time is gone for good as soon as something behind it is confirmed.
      const isCertain = isInTime();
      await withTimeout(consumer.seal(), ANSWER_MS);
      if (isCertain) for (const sequence of acked) this.#history.acked(sequence);
    } catch (error) {
      if (error instanceof WrongAnswer && !isInTime()) throw new Error(error.message, { cause: error });
      throw error;
    }
  }

  /** Connects and works; after a failure anew at the next node. */
  async #overAndOver<T extends { close(): void }>(
    first: number,
    open: (host: string) => Promise<T>,
    isWanted: () => boolean,
    work: (connection: T) => Promise<void>,
  ): Promise<void> {
    for (let failures = 0; isWanted(); failures++) {
      let connection: T | undefined;
      try {
        connection = await openInTime(open(this.#hosts[(first + failures) % this.#hosts.length] ?? ''));
        while (isWanted()) {
          await work(connection);
          // What works is where one begins again: so the clients stay spread over the nodes.
          failures = -1;
        }
      } catch (error) {
        if (error instanceof Violation) throw error;
        if (error instanceof WrongAnswer)
          throw new Violation(`${this.name}: ${error.message}`, { cause: error });
        const text = String(error).replaceAll(/\d+\.\d+\.\d+\.\d+(:\d+)?/g, 'a node');
        this.retried.set(text, (this.retried.get(text) ?? 0) + 1);
        await sleep(AFTER_FAILURE_MS);
      } finally {
        connection?.close();
      }
    }
  }

  async #watchForStalls(): Promise<void> {
    this.#looked = this.#now();
    while (!this.#isStopped) {
      await sleep(STALL_LOOK_MS);
      const now = this.#now();
      if (now - this.#looked > STALL_LOOK_MS + STALL_MS) this.#stalledAt = now;
      this.#looked = now;
    }
  }

  #counted({ at, pause, count }: Count): Count {
    const now = this.#now();
    return { at: now, pause: Math.max(pause, now - at), count: count + 1 };
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
  }
}

/** One that opens after all, when nobody waits for it any more, is closed. */
async function openInTime<T extends { close(): void }>(opening: Promise<T>): Promise<T> {
  try {
    return await withTimeout(opening, ANSWER_MS);
  } catch (error) {
    opening.then(
      (connection) => connection.close(),
      () => undefined,
    );
    throw error;
  }
}
