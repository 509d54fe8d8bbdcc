import { readSequence, writeSequence } from '../../../bench/client/body.js';
import {
  PubSubConnection,
  pubsubPublishTemplate,
  type PubSubReceived,
  type PullStream,
} from '../../../bench/client/pubsub.js';
import { drain, Patience, sleep, unlessDead, untilDead, type Exercise, type Life } from '../exercise.js';
import type { Timeline } from '../timeline.js';
import { OrderCheck, Track, Violation, type Hold } from '../track.js';

const PROJECT = 'projects/fault';
const TOPIC = `${PROJECT}/topics/fault`;
const PLAIN = `${PROJECT}/subscriptions/plain`;
const ORDERED = `${PROJECT}/subscriptions/ordered`;
const KEYS = 4;
const BATCH = 10;
// Messages on their way to a killed subscriber come back after this: the shortest the service allows.
const ACK_DEADLINE_SECONDS = 10;
/** Long, so that a machine that stands still for a while leaves the check as sharp as it is. */
const DRAIN_ACK_DEADLINE_SECONDS = 120;
/** What a check that a stall cut short received comes back in this time. */
const PATIENCE_MS = 150_000;
/** Only some lives have subscribers, since each such kill costs an acknowledgement deadline. */
const LIVES_PER_SUBSCRIBER = 6;
/** The queues of the two subscriptions. */
const QUEUES = ['gcp.sub.plain', 'gcp.sub.ordered'];

/** A topic with two subscriptions: both get every publish or neither does; keys come in order on one of them. */
export class PubSubExercise implements Exercise {
  readonly name = 'pubsub';
  readonly #tracks: readonly [Track, Track];
  #lifeBegan = 0;
  #subscribed = false;
  /** A check that a stall cut short took some of the messages. */
  #halfRead = false;

  constructor(timeline: Timeline) {
    const track = (name: string) => new Track({ name: `pubsub ${name}`, timeline });
    this.#tracks = [track('plain'), track('ordered')];
  }

  async setUp(life: Life): Promise<void> {
    const connection = await PubSubConnection.open(life.port('gcp'));
    await connection.createTopic(TOPIC);
    await connection.createSubscription(PLAIN, TOPIC);
    await connection.createSubscription(ORDERED, TOPIC, true);
    connection.close();
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const connection = await PubSubConnection.open(life.port('gcp'));
    this.#lifeBegan = this.#send();
    this.#subscribed = life.kills % LIVES_PER_SUBSCRIBER === LIVES_PER_SUBSCRIBER - 1;
    const order = new OrderCheck('pubsub key');
    const pulls = this.#subscribed
      ? [
          new Pull(connection, { subscription: PLAIN, track: this.#tracks[0] }),
          new Pull(connection, { subscription: ORDERED, track: this.#tracks[1], order }),
        ]
      : [];
    const publishers = ['', '', ...Array.from({ length: KEYS }, (_, index) => `k${index}`)].map((key) =>
      this.#publish(connection, key, isDead),
    );
    // They end with the broker; sooner is a failure.
    const consumers = pulls.map((pull) => unlessDead(isDead, () => pull.over));
    await Promise.all([...publishers, ...consumers]);
    connection.close();
  }

  killed(): void {
    for (const track of this.#tracks) track.killed();
  }

  async verify(life: Life): Promise<void> {
    const connection = await PubSubConnection.open(life.port('gcp'));
    for (const track of this.#tracks) track.beginDrain();
    const order = new OrderCheck('pubsub key');
    const longer = { ackDeadlineSeconds: DRAIN_ACK_DEADLINE_SECONDS };
    const pulls = [
      new Pull(connection, { ...longer, subscription: PLAIN, track: this.#tracks[0] }),
      new Pull(connection, { ...longer, subscription: ORDERED, track: this.#tracks[1], order }),
    ];
    const comparable = !this.#subscribed && !this.#halfRead;
    this.#halfRead = true;
    const queues = {
      channels: QUEUES,
      patience: new Patience(PATIENCE_MS),
      complete: () => this.#tracks.every((track) => track.complete),
    };
    await drain(life, queues, async () => {
      for (const { failure } of pulls) if (failure !== undefined) throw failure;
      await sleep(20);
    });
    for (const pull of pulls) {
      pull.end();
      if (pull.failure !== undefined) throw pull.failure;
    }
    for (const track of this.#tracks) track.finishDrain();
    if (comparable) this.#checkBothOrNeither(pulls);
    this.#halfRead = false;
    connection.close();
  }

  summary(): string {
    const [plain, ordered] = this.#tracks;
    const sum = (read: (track: Track) => number): number => read(plain) + read(ordered);
    return (
      `${plain.confirmedTotal} confirmed × 2 subscriptions, ${sum((track) => track.reappeared)} came back, ` +
      `${sum((track) => track.lapsed)} after their lease`
    );
  }

  /** A publish of the last life is on both subscriptions or on none, confirmed or not. */
  #checkBothOrNeither(pulls: readonly Pull[]): void {
    const [plain, ordered] = pulls.map(
      (pull) => new Set([...pull.seen].filter((one) => one > this.#lifeBegan)),
    );
    for (const sequence of plain ?? []) {
      if (ordered?.delete(sequence) !== true)
        throw new Violation(`pubsub: ${sequence} is on one subscription only`);
    }
    for (const sequence of ordered ?? [])
      throw new Violation(`pubsub: ${sequence} is on one subscription only`);
  }

  #send(): number {
    this.#tracks[1].send();
    return this.#tracks[0].send();
  }

  async #publish(connection: PubSubConnection, key: string, isDead: () => boolean): Promise<void> {
    const { request, sequenceOffsets } = pubsubPublishTemplate(TOPIC, key === '' ? 1 : BATCH, key);
    await untilDead(isDead, async () => {
      const sequences = sequenceOffsets.map((offset) => {
        const sequence = this.#send();
        writeSequence(request, offset, sequence);
        return sequence;
      });
      await connection.publish(request);
      for (const track of this.#tracks) for (const sequence of sequences) track.confirm(sequence);
    });
  }
}

interface PullOptions {
  readonly subscription: string;
  readonly track: Track;
  readonly order?: OrderCheck;
  readonly ackDeadlineSeconds?: number;
}

/** A StreamingPull that acknowledges what comes, and knows when the broker has read it. */
class Pull {
  readonly seen = new Set<number>();
  /** Resolves at `end`; rejects when the stream ends before, or a promise is broken. */
  readonly over: Promise<void>;
  failure: Error | undefined;
  readonly #stream: PullStream;
  readonly #track: Track;
  readonly #order: OrderCheck | undefined;
  readonly #hold: Hold;
  /** What was acknowledged in front of each empty request, but for the greeting, which nobody asked for. */
  readonly #unanswered: (readonly number[])[] = [[]];
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(connection: PubSubConnection, options: PullOptions) {
    const { subscription, track, order, ackDeadlineSeconds = ACK_DEADLINE_SECONDS } = options;
    this.#track = track;
    this.#order = order;
    this.#hold = { since: Date.now(), leaseMs: ackDeadlineSeconds * 1000 };
    this.over = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever does not wait for the end looks at `failure`.
    this.over.catch(() => undefined);
    this.#stream = connection.streamingPull({
      subscription,
      ackDeadlineSeconds,
      onMessages: (messages) => this.#take(messages),
      onEnd: ({ status, message }) => this.#fail(new Error(`pull ended: ${status} ${message}`)),
    });
  }

  end(): void {
    this.#stream.cancel();
    this.#resolve();
  }

  #fail(error: unknown): void {
    this.failure ??= error as Error;
    this.#reject(this.failure);
  }

  #take(messages: readonly PubSubReceived[]): void {
    try {
      if (messages.length === 0) {
        for (const sequence of this.#unanswered.shift() ?? []) this.#track.acked(sequence);
        return;
      }
      const sequences = messages.map(({ data }) => readSequence(data, 0));
      for (const [i, sequence] of sequences.entries()) {
        const again = this.#track.receive(sequence, this.#hold);
        this.seen.add(sequence);
        const key = messages[i]?.orderingKey ?? '';
        if (key !== '') this.#order?.receive(key, sequence, again);
        this.#track.acking(sequence);
      }
      this.#stream.ack(messages.map(({ ackId }) => ackId));
      // Acknowledgements have no answer; what is asked behind them has.
      this.#stream.keepAlive();
      this.#unanswered.push(sequences);
    } catch (error) {
      this.#fail(error);
    }
  }
}
