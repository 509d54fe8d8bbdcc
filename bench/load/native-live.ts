import { BODY_BYTES, readSequence, writeSequence } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { eventTemplate, NativeConnection, requestTemplate } from '../client/native.js';
import { expect, paced, phase, waitUntil, type Load, type LoadJob } from './job.js';
import { latencies } from './sqs.js';

const SUBSCRIBERS = 10;
/** Events that the slowest subscriber may be behind: plain events are not confirmed, so the sender counts on them. */
const AHEAD_MAX = 512;
const REQUESTS_PER_SECOND = 200;

/** One stream of live events to ten subscribers, each a connection of its own; messages are deliveries. */
export const nativeEvents: Load = async ({ job, label }) => {
  const channel = `bench.${label}`;
  const sender = await NativeConnection.open(job.port);
  const subscribers = await Promise.all(
    Array.from({ length: SUBSCRIBERS }, () => Listener.open(job.port, channel)),
  );
  await ready(sender, channel, subscribers);
  const { event, sequenceOffset } = eventTemplate(channel);
  const stream = sender.openEvents();
  let sent = 0;
  const run = await phase('events to ten', job, async () => {
    const end = performance.now() + job.seconds * 1000;
    while (performance.now() < end) {
      const slowest = Math.min(...subscribers.map(({ received }) => received));
      for (; sent < slowest + AHEAD_MAX; sent++) {
        writeSequence(event, sequenceOffset, sent);
        stream.write(event);
      }
      await new Promise(setImmediate);
    }
    await waitUntil(() => subscribers.every(({ received }) => received === sent), job.drainSecondsMax);
    return subscribers.reduce((sum, { received }) => sum + received, 0);
  });
  const failure = subscribers.find((subscriber) => subscriber.failure !== undefined)?.failure;
  if (failure !== undefined) throw new Error(failure);
  stream.cancel();
  for (const connection of [sender, ...subscribers.map((subscriber) => subscriber.connection)])
    connection.close();
  const counts = new Ledger().counts();
  return { phases: [run], counts, drained: subscribers.every(({ received }) => received === sent) };
};

/** Subscribing has no answer: events are sent until everybody has seen one. */
async function ready(
  sender: NativeConnection,
  channel: string,
  subscribers: readonly Listener[],
): Promise<void> {
  const { event } = eventTemplate(channel);
  await waitUntil(() => {
    sender.sendEvent(event).catch(() => undefined);
    return subscribers.every(({ isThere }) => isThere);
  }, 10);
  // What is still under way is not counted.
  await new Promise((resolve) => setTimeout(resolve, 100));
  for (const subscriber of subscribers) subscriber.begin();
}

/** A subscriber that checks that each event comes once and in order. */
class Listener {
  readonly connection: NativeConnection;
  received = 0;
  isThere = false;
  failure: string | undefined;
  #counts = false;

  private constructor(connection: NativeConnection) {
    this.connection = connection;
  }

  static async open(port: number, channel: string): Promise<Listener> {
    const listener = new Listener(await NativeConnection.open(port));
    listener.connection.listen(channel, (body) => listener.#take(body));
    return listener;
  }

  begin(): void {
    this.#counts = true;
  }

  #take(body: Uint8Array): void {
    this.isThere = true;
    if (!this.#counts) return;
    const sequence = readSequence(body, 0);
    if (body.length !== BODY_BYTES || sequence !== this.received) {
      this.failure ??= `event ${String(sequence)} came in the place of ${String(this.received)}`;
    }
    this.received++;
  }
}

/** 200 queries a second and one responder: the way there and back. */
export const nativeRequests: Load = async ({ job, label }) => {
  const ledger = new Ledger(true);
  const channel = `bench.${label}`;
  const asker = await NativeConnection.open(job.port);
  const responder = await NativeConnection.open(job.port);
  responder.serveQueries(channel);
  const { request, sequenceOffset } = requestTemplate(channel);
  await waitUntil(() => responder.served > 0 || (void asker.ask(request).catch(() => undefined), false), 10);
  let failure: unknown;
  const run = await phase('request and reply at 200/s', job, () =>
    ask(job, ledger, (sequence) => {
      writeSequence(request, sequenceOffset, sequence);
      asker.ask(request).then(
        () => {
          ledger.confirm(sequence);
          ledger.receive(sequence);
        },
        (error: unknown) => (failure ??= error),
      );
    }),
  );
  if (failure !== undefined) throw failure as Error;
  expect(ledger.received === ledger.sent, 'requests without an answer');
  asker.close();
  responder.close();
  return { phases: [{ ...run, latencyMs: latencies(ledger) }], counts: ledger.counts(), drained: true };
};

async function ask(job: LoadJob, ledger: Ledger, send: (sequence: number) => void): Promise<number> {
  await paced(REQUESTS_PER_SECOND, job.seconds, () => send(ledger.send()));
  await waitUntil(() => ledger.received >= ledger.sent, job.drainSecondsMax);
  return ledger.received;
}
