import { AmqpConnection } from '../../../bench/client/amqp.js';
import { publishTemplate, type PublishTemplate } from '../../../bench/client/amqp-frames.js';
import { bodyText, readSequence, writeSequence } from '../../../bench/client/body.js';
import { drain, Patience, sleep, type Exercise, type Life } from '../exercise.js';
import type { Timeline } from '../timeline.js';
import { OrderCheck, Track, Violation } from '../track.js';

const QUEUE = 'fault';
const CHANNEL = 'amqp.default.fault';
const UNCONFIRMED_MAX = 500;
const PREFETCH = 200;
const SYNC_MS = 25;
/** A delivery belongs to its channel until that ends. */
const HOLD = { since: 0, leaseMs: Infinity };

/** A durable queue with persistent messages, publisher confirms and a consumer with acks. */
export class AmqpExercise implements Exercise {
  readonly name = 'amqp';
  readonly #track: Track;
  readonly #template: PublishTemplate = publishTemplate(QUEUE, bodyText());

  constructor(timeline: Timeline) {
    this.#track = new Track({ name: this.name, timeline });
  }

  async setUp(life: Life): Promise<void> {
    const connection = await AmqpConnection.open({ port: life.port('amqp') });
    await connection.declareQueue(QUEUE);
    connection.close();
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const withConsumer = life.kills % 2 === 0;
    await Promise.all([this.#publish(life, isDead), withConsumer ? this.#consume(life) : undefined]);
  }

  killed(): void {
    this.#track.killed();
  }

  async verify(life: Life): Promise<void> {
    this.#track.beginDrain();
    const order = new OrderCheck(this.name);
    let failure: unknown;
    const acked: number[] = [];
    const connection: AmqpConnection = await AmqpConnection.open({
      port: life.port('amqp'),
      onDelivery: ({ tag, body }) => {
        const sequence = readSequence(body, 0);
        try {
          this.#track.receive(sequence, HOLD);
          order.receive(QUEUE, sequence);
        } catch (error) {
          failure ??= error;
        }
        this.#track.acking(sequence);
        connection.ack(tag);
        acked.push(sequence);
      },
      onClose: (reason) => (failure ??= new Violation(`${this.name}: ${reason}`)),
    });
    await connection.prefetch(PREFETCH);
    await connection.consume(QUEUE);
    const queue = {
      channels: [CHANNEL],
      patience: new Patience(),
      complete: () => failure !== undefined || this.#track.complete,
    };
    await drain(life, queue, async () => {
      if (failure !== undefined) throw failure as Error;
      await sleep(20);
    });
    if (failure === undefined) await this.#sync(connection, acked);
    const thrown = failure;
    failure = 'closed by the test';
    connection.close();
    if (thrown !== undefined) throw thrown as Error;
    this.#track.finishDrain();
  }

  summary(): string {
    return `${this.#track.confirmedTotal} confirmed, ${this.#track.reappeared} came back after an unconfirmed ack`;
  }

  /** An ack has no answer; what is asked behind it on the same channel has. */
  async #sync(connection: AmqpConnection, acked: readonly number[]): Promise<void> {
    await connection.declareQueue(QUEUE, true);
    for (const sequence of acked) this.#track.acked(sequence);
  }

  async #publish(life: Life, isDead: () => boolean): Promise<void> {
    const open = new Map<number, number>();
    let tags = 0;
    let below = 1;
    let broken: string | undefined;
    let wake: (() => void) | undefined;
    const settle = (tag: number) => {
      const sequence = open.get(tag);
      if (sequence === undefined) return;
      open.delete(tag);
      this.#track.confirm(sequence);
    };
    const connection = await AmqpConnection.open({
      port: life.port('amqp'),
      onConfirm: (tag, multiple, ok) => {
        if (!ok) broken ??= 'a publish was refused';
        else if (multiple) for (; below <= tag; below++) settle(below);
        else settle(tag);
        wake?.();
      },
      onClose: (reason) => {
        broken ??= reason;
        wake?.();
      },
    });
    await connection.confirmSelect();
    while (!isDead() && broken === undefined) {
      while (open.size < UNCONFIRMED_MAX) {
        const sequence = this.#track.send();
        open.set(++tags, sequence);
        const frames = Buffer.from(this.#template.frames);
        writeSequence(frames, this.#template.sequenceOffset, sequence);
        connection.publish(frames);
      }
      await new Promise<void>((resolve) => (wake = resolve));
    }
    connection.close();
    await sleep(20);
    if (!isDead()) throw new Violation(`${this.name}: publisher: ${broken ?? 'ended'}`);
  }

  async #consume(life: Life): Promise<void> {
    let broken: unknown;
    let acked: number[] = [];
    const order = new OrderCheck(this.name);
    const connection: AmqpConnection = await AmqpConnection.open({
      port: life.port('amqp'),
      onDelivery: ({ tag, body }) => {
        const sequence = readSequence(body, 0);
        try {
          this.#track.receive(sequence, HOLD);
          order.receive(QUEUE, sequence);
        } catch (error) {
          broken ??= error;
        }
        this.#track.acking(sequence);
        connection.ack(tag);
        acked.push(sequence);
      },
      onClose: (reason) => {
        broken ??= new Error(`${this.name}: consumer: ${reason}`);
      },
    });
    await connection.prefetch(PREFETCH);
    await connection.consume(QUEUE);
    while (broken === undefined) {
      await sleep(SYNC_MS);
      const before = acked;
      acked = [];
      await this.#sync(connection, before);
    }
    connection.close();
    throw broken as Error;
  }
}
