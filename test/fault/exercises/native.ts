import { readSequence, writeSequence } from '../../../bench/client/body.js';
import { NativeConnection, queueMessageTemplate } from '../../../bench/client/native.js';
import { drain, Patience, untilDead, type Exercise, type Life } from '../exercise.js';
import { NativePoller } from '../native-poller.js';
import { NativeSender } from '../native-sender.js';
import type { Timeline } from '../timeline.js';
import { Track } from '../track.js';

const CHANNEL = 'fault.native';
const BATCH = 10;
const SENDERS = 3;
const POLL_MAX = 100;
const POLL_WAIT_MS = 1000;
/** A transaction ends with its connection only. */
const HOLD = { since: 0, leaseMs: Infinity };

/** A native queue: upstream batches and a downstream that acknowledges each transaction. */
export class NativeExercise implements Exercise {
  readonly name = 'native';
  readonly #track: Track;

  constructor(timeline: Timeline) {
    this.#track = new Track({ name: this.name, timeline });
  }

  async setUp(): Promise<void> {
    // The first message makes the queue.
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const port = life.port('native-grpc');
    const senders = Array.from({ length: SENDERS }, async () => {
      const sender = new NativeSender(await NativeConnection.open(port));
      await untilDead(isDead, async () => {
        const sequences = Array.from({ length: BATCH }, () => this.#track.send());
        await sender.send(sequences.map((sequence) => queueMessage(CHANNEL, sequence)));
        for (const sequence of sequences) this.#track.confirm(sequence);
      });
    });
    const consumer = NativeConnection.open(port).then((connection) => {
      const poller = new NativePoller(connection);
      return untilDead(isDead, () => this.#pollAndAck(connection, poller));
    });
    await Promise.all([...senders, life.kills % 2 === 1 ? consumer : undefined]);
  }

  killed(): void {
    this.#track.killed();
  }

  async verify(life: Life): Promise<void> {
    this.#track.beginDrain();
    const connection = await NativeConnection.open(life.port('native-grpc'));
    const poller = new NativePoller(connection);
    const queue = {
      channels: [CHANNEL],
      patience: new Patience(),
      complete: () => this.#track.complete,
    };
    await drain(life, queue, () => this.#pollAndAck(connection, poller));
    connection.close();
    this.#track.finishDrain();
  }

  summary(): string {
    return `${this.#track.confirmedTotal} confirmed, ${this.#track.reappeared} came back after an unconfirmed ack`;
  }

  async #pollAndAck(connection: NativeConnection, poller: NativePoller): Promise<void> {
    const poll = await poller.get(CHANNEL, POLL_MAX, POLL_WAIT_MS);
    if (poll.messages.length === 0) return;
    const sequences = poll.messages.map(({ body }) => readSequence(body, 0));
    for (const sequence of sequences) this.#track.receive(sequence, HOLD);
    for (const sequence of sequences) this.#track.acking(sequence);
    poller.ackAll(poll);
    // AckAll has no answer; what is asked behind it on the same connection has.
    await connection.ping();
    for (const sequence of sequences) this.#track.acked(sequence);
  }
}

/** An encoded message of a native queue whose body carries `sequence`. */
export function queueMessage(channel: string, sequence: number, deadLetterTo = ''): Uint8Array {
  const { message, sequenceOffset } = queueMessageTemplate(channel, deadLetterTo);
  writeSequence(message, sequenceOffset, sequence);
  return message;
}
