import { readSequence } from '../../../bench/client/body.js';
import { NativeConnection } from '../../../bench/client/native.js';
import { drain, Patience, sleep, untilDead, type Exercise, type Life } from '../exercise.js';
import { NativePoller } from '../native-poller.js';
import { NativeSender } from '../native-sender.js';
import type { Timeline } from '../timeline.js';
import { Track } from '../track.js';
import { queueMessage } from './native.js';

const QUEUE = 'fault.work';
const DEAD = 'fault.dead';
const BATCH = 50;
/** A transaction ends with its connection only. */
const HOLD = { since: 0, leaseMs: Infinity };

/** Messages that move to another queue when they are returned: each is in exactly one of the two at any time. */
export class DeadLetterExercise implements Exercise {
  readonly name = 'dead-letters';
  /** One track for both queues: twice in either or once in both is the same fault. */
  readonly #track: Track;
  #moved = 0;

  constructor(timeline: Timeline) {
    this.#track = new Track({ name: this.name, timeline });
  }

  async setUp(): Promise<void> {
    // The first message makes each queue.
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const connection = await NativeConnection.open(life.port('native-grpc'));
    const sender = new NativeSender(connection);
    const poller = new NativePoller(connection);
    await untilDead(isDead, async () => {
      const sequences = Array.from({ length: BATCH }, () => this.#track.send());
      await sender.send(sequences.map((sequence) => queueMessage(QUEUE, sequence, DEAD)));
      for (const sequence of sequences) this.#track.confirm(sequence);
      const poll = await poller.get(QUEUE, BATCH, 1000);
      poller.nackAll(poll);
      this.#moved += poll.messages.length;
      await sleep(life.random.below(4));
    });
  }

  killed(): void {
    this.#track.killed();
  }

  async verify(life: Life): Promise<void> {
    this.#track.beginDrain();
    const connection = await NativeConnection.open(life.port('native-grpc'));
    const poller = new NativePoller(connection);
    for (const channel of [QUEUE, DEAD]) {
      // Each may hold what the other does not.
      const queue = { channels: [channel], patience: new Patience(), complete: () => true };
      await drain(life, queue, () => this.#pollAndAck(connection, poller, channel));
    }
    connection.close();
    this.#track.finishDrain();
  }

  summary(): string {
    return `${this.#moved} moved`;
  }

  async #pollAndAck(connection: NativeConnection, poller: NativePoller, channel: string): Promise<void> {
    const poll = await poller.get(channel, 10 * BATCH, 1000);
    if (poll.messages.length === 0) return;
    const sequences = poll.messages.map(({ body }) => readSequence(body, 0));
    for (const sequence of sequences) this.#track.receive(sequence, HOLD);
    for (const sequence of sequences) this.#track.acking(sequence);
    poller.ackAll(poll);
    await connection.ping();
    for (const sequence of sequences) this.#track.acked(sequence);
  }
}
