import { readSequence } from '../../../bench/client/body.js';
import { NativeConnection } from '../../../bench/client/native.js';
import { sleep, untilDead, type Exercise, type Life } from '../exercise.js';
import { NativePoller } from '../native-poller.js';
import { NativeSender } from '../native-sender.js';
import { Violation } from '../track.js';
import { queueMessage } from './native.js';

const CHANNEL = 'fault.purge';
const BATCH = 200;
const PAUSE_MS_MAX = 4;

/** One batch at a time is sent and purged: after a crash a batch is there as a whole or not at all. */
export class PurgeExercise implements Exercise {
  readonly name = 'purge';
  #next = 0;
  /** First number of the batch that a confirmed send left behind, until its purge begins. */
  #certain: number | undefined;
  /** Batches below this were purged, and a later confirmed send proves it. */
  #goneBelow = 0;
  /** Batches that a check began to read before a stall cut it short. */
  readonly #halfRead = new Set<number>();
  #purges = 0;

  async setUp(): Promise<void> {
    // The first message makes the queue.
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const connection = await NativeConnection.open(life.port('native-grpc'));
    const sender = new NativeSender(connection);
    await untilDead(isDead, async () => {
      const first = this.#next;
      this.#next += BATCH;
      await sender.send(Array.from({ length: BATCH }, (_, index) => queueMessage(CHANNEL, first + index)));
      this.#goneBelow = first;
      this.#certain = first;
      await sleep(life.random.below(PAUSE_MS_MAX));
      if (isDead()) return;
      // From here to the answer a kill leaves the purge undecided.
      this.#certain = undefined;
      const purged = await connection.ackAll(CHANNEL);
      if (purged !== BATCH) throw new Violation(`purge of ${BATCH} messages took ${purged}`);
      this.#purges++;
    });
  }

  killed(): void {
    // Nothing to settle: each state is decided by what is found.
  }

  async verify(life: Life): Promise<void> {
    const connection = await NativeConnection.open(life.port('native-grpc'));
    const poller = new NativePoller(connection);
    const found = new Map<number, number>();
    const before = new Set(this.#halfRead);
    for (;;) {
      const poll = await poller.get(CHANNEL, 10 * BATCH, 1000);
      if (poll.messages.length === 0) break;
      for (const { body } of poll.messages) {
        const sequence = readSequence(body, 0);
        const first = sequence - (sequence % BATCH);
        found.set(first, (found.get(first) ?? 0) + 1);
        this.#halfRead.add(first);
      }
      poller.ackAll(poll);
    }
    connection.close();
    for (const [first, count] of found) {
      if (first < this.#goneBelow)
        throw new Violation(`purge: batch ${first} is gone for good and came back`);
      if (count !== BATCH && !before.has(first))
        throw new Violation(`purge: ${count} of the ${BATCH} messages of batch ${first} are left`);
    }
    if (this.#certain !== undefined && !this.#halfRead.has(this.#certain)) {
      throw new Violation(`purge: the confirmed batch ${this.#certain} is lost`);
    }
    this.#certain = undefined;
    this.#halfRead.clear();
  }

  summary(): string {
    return `${this.#purges} purges of ${BATCH}`;
  }
}
