import { BODY_BYTES, readSequence } from '../../../bench/client/body.js';
import { NativeConnection, readEvent, storedEvent } from '../../../bench/client/native.js';
import { sleep, untilDead, type Exercise, type Life, Patience } from '../exercise.js';
import type { Timeline } from '../timeline.js';
import { Violation } from '../track.js';

const CHANNEL = 'fault.events';
const SENDERS = 4;
const READ_WAIT_MS = 20_000;
const QUIET_MS = 100;

/** An Events Store channel: sequences without a gap, every confirmed event once, the past never changes. */
export class EventsStoreExercise implements Exercise {
  readonly name = 'events-store';
  readonly #timeline: Timeline;
  #next = 0;
  /** Confirmed and not yet read. */
  readonly #confirmed = new Set<number>();
  /** First sequence not read yet. */
  #position = 1;
  /** Read in the last check, and in the one that is under way or was cut short. */
  #readBefore = new Set<number>();
  #read = new Set<number>();

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  async setUp(): Promise<void> {
    // The first event makes the channel.
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const connection = await NativeConnection.open(life.port('native-grpc'));
    const sender = () =>
      untilDead(isDead, async () => {
        const number = this.#next++;
        const startedAt = this.#timeline.now();
        await connection.sendEvent(storedEvent(CHANNEL, number));
        this.#timeline.confirmed(startedAt);
        this.#confirmed.add(number);
      });
    await Promise.all(Array.from({ length: SENDERS }, sender));
    connection.close();
  }

  killed(): void {
    // Sends are confirmed when they are durable; there is nothing to acknowledge.
  }

  async verify(life: Life): Promise<void> {
    const connection = await NativeConnection.open(life.port('native-grpc'));
    let failure: unknown;
    let events = 0;
    const onEvent = (message: Uint8Array): void => {
      events++;
      const { sequence, body } = readEvent(message);
      const number = readSequence(body, 0);
      if (body.length !== BODY_BYTES)
        failure ??= new Violation(`${this.name}: an event of ${body.length} bytes`);
      if (sequence !== this.#position) {
        failure ??= new Violation(`${this.name}: sequence ${sequence} came where ${this.#position} was due`);
      }
      if (this.#read.has(number) || this.#readBefore.has(number))
        failure ??= new Violation(`${this.name}: ${number} came twice`);
      this.#position = sequence + 1;
      this.#read.add(number);
      this.#confirmed.delete(number);
    };
    const subscription = connection.subscribeFromSequence({
      clientId: `verify-${life.kills}`,
      channel: CHANNEL,
      sequence: this.#position,
      onEvent,
    });
    const patience = new Patience(READ_WAIT_MS);
    while (failure === undefined && this.#confirmed.size > 0 && !patience.isOver) await sleep(5);
    for (let before = -1; before !== events;) {
      before = events;
      await sleep(QUIET_MS);
    }
    subscription.cancel();
    connection.close();
    if (failure !== undefined) throw failure as Error;
    if (this.#confirmed.size > 0) {
      const [first] = this.#confirmed;
      throw new Violation(`${this.name}: ${this.#confirmed.size} confirmed events are lost: ${first}`);
    }
    this.#readBefore = this.#read;
    this.#read = new Set();
  }

  summary(): string {
    return `${this.#position - 1} events without a gap`;
  }
}
