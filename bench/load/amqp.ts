import { AmqpConnection, publishTemplate, type AmqpHandlers, type PublishTemplate } from '../client/amqp.js';
import { BODY_BYTES, bodyText, readSequence, writeSequence } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { expect, paced, phase, sleep, waitUntil, type Load, type RunContext } from './job.js';
import { latencies } from './sqs.js';

const UNCONFIRMED_MAX = 1000;
const PREFETCH = 500;
const LATENCY_PER_SECOND = 200;

/** Persistent publishes with confirms (at most 1000 open), then one consumer drains with one ack a message. */
export const amqpPublishThenConsume: Load = async (context) => {
  const { job } = context;
  const pair = await Pair.open(context, new Ledger());
  const publish = await phase('publish confirm', job, async () => {
    await pair.publishFor(job.seconds, job.messagesMax);
    return pair.ledger.confirmed;
  });
  const consume = await phase('consume ack', job, async () => {
    await pair.consumer.consume(pair.queue);
    await pair.received(job.drainSecondsMax);
    return pair.ledger.received;
  });
  return { phases: [publish, consume], ...(await pair.finish()) };
};

/** Publishing with confirms and consuming with acks at once, on two connections. */
export const amqpBoth: Load = async (context) => {
  const { job } = context;
  const pair = await Pair.open(context, new Ledger());
  await pair.consumer.consume(pair.queue);
  const both = await phase('publish confirm + consume ack', job, async () => {
    await pair.publishFor(job.seconds, Number.POSITIVE_INFINITY);
    await pair.received(job.drainSecondsMax);
    return pair.ledger.received;
  });
  return { phases: [both], ...(await pair.finish()) };
};

/** 200 persistent publishes a second: the way from publish to delivery. */
export const amqpLatency: Load = async (context) => {
  const { job } = context;
  const pair = await Pair.open(context, new Ledger(true));
  await pair.consumer.consume(pair.queue);
  const run = await phase('e2e at 200/s', job, async () => {
    await paced(LATENCY_PER_SECOND, job.seconds, () => pair.publish());
    await pair.received(job.drainSecondsMax);
    return pair.ledger.received;
  });
  return { phases: [{ ...run, latencyMs: latencies(pair.ledger) }], ...(await pair.finish()) };
};

/** A publishing and a consuming connection on one durable queue. */
class Pair {
  readonly queue: string;
  readonly ledger: Ledger;
  #publisher!: AmqpConnection;
  consumer!: AmqpConnection;
  readonly #template: PublishTemplate;
  failure: string | undefined;
  #settledBelow = 1;
  #wake: (() => void) | undefined;

  private constructor(label: string, ledger: Ledger) {
    this.queue = `bench-${label}`;
    this.ledger = ledger;
    this.#template = publishTemplate(this.queue, bodyText());
  }

  static async open({ job, label }: RunContext, ledger: Ledger): Promise<Pair> {
    const pair = new Pair(label, ledger);
    pair.#publisher = await AmqpConnection.open({ port: job.port, ...pair.#handlers() });
    pair.consumer = await AmqpConnection.open({ port: job.port, ...pair.#handlers() });
    await pair.#publisher.declareQueue(pair.queue);
    await pair.#publisher.confirmSelect();
    await pair.consumer.prefetch(PREFETCH);
    return pair;
  }

  #handlers(): AmqpHandlers {
    return {
      onClose: (reason) => {
        this.failure ??= reason;
        this.#wake?.();
      },
      onConfirm: (tag, multiple, ok) => {
        if (!ok) this.failure ??= 'the server refused a publish';
        // Tags count from 1 in the order of publishing, as the sequence numbers do from 0.
        if (multiple)
          for (; this.#settledBelow <= tag; this.#settledBelow++) this.ledger.confirm(this.#settledBelow - 1);
        else this.ledger.confirm(tag - 1);
        this.#wake?.();
      },
      onDelivery: ({ tag, body }) => {
        if (body.length !== BODY_BYTES) this.failure ??= 'a body of another length';
        this.ledger.receive(readSequence(body, 0));
        this.consumer.ack(tag);
      },
    };
  }

  publish(): void {
    const frames = Buffer.from(this.#template.frames);
    writeSequence(frames, this.#template.sequenceOffset, this.ledger.send());
    this.#publisher.publish(frames);
  }

  /** Publishes with a full window until the time is over, then waits for the last confirm. */
  async publishFor(seconds: number, messagesMax: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end && this.ledger.sent < messagesMax && this.failure === undefined) {
      while (this.ledger.sent - this.ledger.confirmed < UNCONFIRMED_MAX) this.publish();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const confirmed = await waitUntil(
      () => this.failure !== undefined || this.ledger.confirmed >= this.ledger.sent,
      seconds + 10,
    );
    this.#check();
    expect(confirmed, `${String(this.ledger.sent - this.ledger.confirmed)} publishes were never confirmed`);
  }

  async received(secondsMax: number): Promise<void> {
    await waitUntil(() => this.failure !== undefined || this.ledger.received >= this.ledger.sent, secondsMax);
    this.#check();
  }

  /** The last counts; everything received must also be gone from the server. */
  async finish() {
    const counts = this.ledger.counts();
    const drained = counts.received >= counts.confirmed;
    await sleep(50);
    this.failure ??= 'closed by us';
    this.consumer.close();
    const left = await this.#publisher.declareQueue(this.queue, true);
    expect(!drained || left === 0, `${String(left)} messages left in a drained queue`);
    await this.#publisher.deleteQueue(this.queue);
    this.#publisher.close();
    return { counts, drained };
  }

  #check(): void {
    if (this.failure !== undefined) throw new Error(this.failure);
  }
}
