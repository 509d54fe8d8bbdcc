import { readSequence, writeSequence } from '../../../bench/client/body.js';
import { PubSubConnection, pubsubPublishTemplate, type PullStream } from '../../../bench/client/pubsub.js';
import { Patience, sleep, untilDead, waiting, type Exercise, type Life } from '../exercise.js';
import type { Timeline } from '../timeline.js';
import { OrderCheck, Track, Violation } from '../track.js';

const PROJECT = 'projects/fault';
const TOPIC = `${PROJECT}/topics/fault`;
const PLAIN = `${PROJECT}/subscriptions/plain`;
const ORDERED = `${PROJECT}/subscriptions/ordered`;
const KEYS = 4;
const BATCH = 10;
// Acknowledgements on the stream have no answer; a starved machine may read them late.
const ACK_GRACE_MS = 2000;
// Messages on their way to a killed subscriber come back after this: the shortest the service allows.
const ACK_DEADLINE_SECONDS = 10;
/** Long enough that a machine that stands still does not bring a message back while it is being acknowledged. */
const DRAIN_ACK_DEADLINE_SECONDS = 120;
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

  constructor(timeline: Timeline) {
    const track = (name: string) => new Track({ name: `pubsub ${name}`, timeline, ackGraceMs: ACK_GRACE_MS });
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
    const pulls = this.#subscribed
      ? [
          this.#pull(connection, { subscription: PLAIN, track: this.#tracks[0] }),
          this.#pull(connection, { subscription: ORDERED, track: this.#tracks[1] }),
        ]
      : [];
    const publishers = ['', '', ...Array.from({ length: KEYS }, (_, index) => `k${index}`)].map((key) =>
      this.#publish(connection, key, isDead),
    );
    await Promise.all(publishers);
    for (const pull of pulls) if (pull.failure instanceof Violation) throw pull.failure;
    connection.close();
  }

  killed(): void {
    for (const track of this.#tracks) track.killed();
  }

  async verify(life: Life): Promise<void> {
    const connection = await PubSubConnection.open(life.port('gcp'));
    for (const track of this.#tracks) track.beginDrain();
    const order = new OrderCheck('pubsub key');
    const drain = { ackDeadlineSeconds: DRAIN_ACK_DEADLINE_SECONDS };
    const pulls = [
      this.#pull(connection, { ...drain, subscription: PLAIN, track: this.#tracks[0] }),
      this.#pull(connection, { ...drain, subscription: ORDERED, track: this.#tracks[1], order }),
    ];
    const patience = new Patience();
    const failed = () => pulls.some((pull) => pull.failure !== undefined);
    while (!failed() && !this.#tracks.every((track) => track.complete) && !patience.isOver) {
      await sleep(5);
    }
    // Also what was never confirmed: until the subscriptions are empty, by the broker's own word.
    while (!failed() && (await waiting(life, QUEUES)) > 0) {
      if (patience.isOver) throw new Violation('pubsub: a subscription does not run empty');
      await sleep(20);
    }
    for (const pull of pulls) {
      pull.stream?.cancel();
      if (pull.failure !== undefined) throw pull.failure as Error;
    }
    for (const track of this.#tracks) track.finishDrain();
    this.#checkBothOrNeither(pulls);
    connection.close();
  }

  summary(): string {
    const [plain, ordered] = this.#tracks;
    return `${plain.confirmedTotal} confirmed × 2 subscriptions, ${plain.reappeared + ordered.reappeared} came back`;
  }

  /** A publish of the last life is on both subscriptions or on none, confirmed or not. */
  #checkBothOrNeither(pulls: readonly Pull[]): void {
    if (this.#subscribed) return;
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

  #pull(
    connection: PubSubConnection,
    { subscription, track, order, ackDeadlineSeconds = ACK_DEADLINE_SECONDS }: PullOptions,
  ): Pull {
    const pull: Pull = { stream: undefined, failure: undefined, seen: new Set() };
    pull.stream = connection.streamingPull({
      subscription,
      ackDeadlineSeconds,
      onMessages: (messages) => {
        try {
          for (const { data, orderingKey } of messages) {
            const sequence = readSequence(data, 0);
            track.receive(sequence);
            pull.seen.add(sequence);
            if (orderingKey !== '') order?.receive(orderingKey, sequence);
          }
          pull.stream?.ack(messages.map((message) => message.ackId));
          for (const { data } of messages) track.ack(readSequence(data, 0));
        } catch (error) {
          pull.failure ??= error;
        }
      },
      onEnd: (end) => (pull.failure ??= new Error(`pull ended: ${end.status} ${end.message}`)),
    });
    return pull;
  }
}

interface PullOptions {
  readonly subscription: string;
  readonly track: Track;
  readonly order?: OrderCheck;
  readonly ackDeadlineSeconds?: number;
}

interface Pull {
  stream: PullStream | undefined;
  failure: unknown;
  readonly seen: Set<number>;
}
