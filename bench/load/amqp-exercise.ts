import { AmqpConnection, type AmqpHandlers } from '../client/amqp.js';
import type { PublishTemplate } from '../client/amqp-frames.js';
import { BODY_BYTES, readSequence, writeSequence } from '../client/body.js';
import type { Ledger } from '../client/ledger.js';
import { expect, sleep, waitUntil } from './job.js';

const UNCONFIRMED_MAX = 1000;
const PREFETCH = 500;
/** How long what was published without confirms may be on its way. */
const COUNT_SECONDS_MAX = 10;
/** Publishes without confirms in one turn of the event loop. */
const UNCONFIRMED_TURN = 64;

export interface ExerciseOptions {
  readonly port: number;
  readonly ledger: Ledger;
  /** Durable queues; each has a consumer on a connection of its own. */
  readonly queues: readonly string[];
  /** Without them the server is asked at the end what it has. */
  readonly confirms: boolean;
  readonly template: (sequence: number) => PublishTemplate;
  /** Which copy of a message its place among the queues is; undefined: it does not belong there. Default: the only one. */
  readonly copyOf?: (sequence: number, queue: number) => number | undefined;
  /** What is needed besides the queues, on the publishing connection. */
  readonly declare?: (publisher: AmqpConnection) => Promise<void>;
  /** Takes everything away again; default: deletes the queues. */
  readonly remove?: (publisher: AmqpConnection) => Promise<void>;
}

/** One publishing connection, one consuming connection a queue, and what happened to every message. */
export class Exercise {
  readonly #options: ExerciseOptions;
  #publisher!: AmqpConnection;
  readonly #consumers: AmqpConnection[] = [];
  #failure: string | undefined;
  #settledBelow = 1;
  #wake: (() => void) | undefined;

  private constructor(options: ExerciseOptions) {
    this.#options = options;
  }

  static async open(options: ExerciseOptions): Promise<Exercise> {
    const exercise = new Exercise(options);
    const { port, queues, confirms } = options;
    const publisher = await AmqpConnection.open({ port, ...exercise.#publishing() });
    exercise.#publisher = publisher;
    for (const [at, queue] of queues.entries()) {
      await publisher.declareQueue(queue);
      const consumer = await AmqpConnection.open({ port, ...exercise.#consuming(at) });
      await consumer.prefetch(PREFETCH);
      exercise.#consumers.push(consumer);
    }
    await options.declare?.(publisher);
    if (confirms) await publisher.confirmSelect();
    return exercise;
  }

  #onClose(reason: string): void {
    this.#failure ??= reason;
    this.#wake?.();
  }

  #publishing(): AmqpHandlers {
    const { ledger } = this.#options;
    return {
      onClose: (reason) => this.#onClose(reason),
      onConfirm: (tag, multiple, ok) => {
        if (!ok) this.#failure ??= 'the server refused a publish';
        // Tags count from 1 in the order of publishing, as the sequence numbers do from 0.
        if (multiple)
          for (; this.#settledBelow <= tag; this.#settledBelow++) ledger.confirm(this.#settledBelow - 1);
        else ledger.confirm(tag - 1);
        this.#wake?.();
      },
    };
  }

  #consuming(queue: number): AmqpHandlers {
    const { ledger, copyOf = () => 0 } = this.#options;
    return {
      onClose: (reason) => this.#onClose(reason),
      onDelivery: ({ tag, body }) => {
        if (body.length !== BODY_BYTES) this.#failure ??= 'a body of another length';
        const sequence = readSequence(body, 0);
        const copy = copyOf(sequence, queue);
        if (copy === undefined) this.#failure ??= `message ${String(sequence)} is in the wrong queue`;
        else ledger.receive(sequence, copy);
        this.#consumers[queue]?.ack(tag);
      },
    };
  }

  publish(): void {
    const sequence = this.#options.ledger.send();
    const { frames, sequenceOffset } = this.#options.template(sequence);
    const bytes = Buffer.from(frames);
    writeSequence(bytes, sequenceOffset, sequence);
    this.#publisher.publish(bytes);
  }

  /** Publishes as fast as is taken until the time is over, then waits until the server has all of it. */
  async publishFor(seconds: number, messagesMax: number): Promise<void> {
    const { ledger, confirms } = this.#options;
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end && ledger.sent < messagesMax && this.#failure === undefined) {
      if (confirms) {
        while (ledger.sent - ledger.confirmed < UNCONFIRMED_MAX) this.publish();
        await new Promise<void>((resolve) => (this.#wake = resolve));
      } else {
        for (let i = 0; i < UNCONFIRMED_TURN; i++) this.publish();
        await this.#publisher.drained();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    if (confirms) await this.#confirmed(seconds);
    else await this.#counted();
    this.#check();
  }

  async #confirmed(seconds: number): Promise<void> {
    const { ledger } = this.#options;
    const done = () => this.#failure !== undefined || ledger.confirmed >= ledger.sent;
    const confirmed = await waitUntil(done, seconds + 10);
    this.#check();
    expect(confirmed, `${String(ledger.sent - ledger.confirmed)} publishes were never confirmed`);
  }

  /** The queues' own count says when all is there; a server may answer ahead of what it was sent before. Nobody consumes yet. */
  async #counted(): Promise<void> {
    const { ledger } = this.#options;
    const end = performance.now() + COUNT_SECONDS_MAX * 1000;
    let count = await this.#left();
    while (count < ledger.sent && performance.now() < end) {
      await sleep(1);
      count = await this.#left();
    }
    expect(count === ledger.sent, `${String(count)} of ${String(ledger.sent)} publishes are in their queue`);
    for (let sequence = 0; sequence < count; sequence++) ledger.confirm(sequence);
  }

  async consume(): Promise<void> {
    for (const [at, consumer] of this.#consumers.entries())
      await consumer.consume(this.#options.queues[at] ?? '');
  }

  async received(secondsMax: number): Promise<void> {
    await waitUntil(() => this.#failure !== undefined || this.#options.ledger.complete, secondsMax);
    this.#check();
  }

  /** The last counts; everything received must also be gone from the server. */
  async finish() {
    const { ledger, queues, remove } = this.#options;
    const counts = ledger.counts();
    const drained = ledger.complete;
    await sleep(50);
    this.#check();
    this.#failure = 'closed by us';
    for (const consumer of this.#consumers) consumer.close();
    const left = await this.#left();
    expect(!drained || left === 0, `${String(left)} messages left in drained queues`);
    if (remove) await remove(this.#publisher);
    else for (const queue of queues) await this.#publisher.deleteQueue(queue);
    this.#publisher.close();
    return { counts, drained };
  }

  async #left(): Promise<number> {
    let left = 0;
    for (const queue of this.#options.queues) left += await this.#publisher.declareQueue(queue, true);
    return left;
  }

  #check(): void {
    if (this.#failure !== undefined) throw new Error(this.#failure);
  }
}
