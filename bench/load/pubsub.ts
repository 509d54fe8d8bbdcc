import { BODY_BYTES, readSequence, writeSequence } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import {
  PubSubConnection,
  pubsubPublishTemplate,
  type PublishTemplate,
  type PullStream,
} from '../client/pubsub.js';
import { expect, paced, phase, sleep, waitUntil, type Load, type Run, type RunContext } from './job.js';
import { latencies } from './sqs.js';

const CONNECTIONS = 2;
const CALLS_OPEN = 32;
const PULL_STREAMS = 5;
const BATCH = 100;
const LATENCY_PER_SECOND = 200;

/** Publishes one by one with 32 calls open, then pulls everything. */
export const pubsubPublish1: Load = (context) => publishThenPull(context, 1);

/** Publishes in hundreds with 32 calls open, then pulls everything. */
export const pubsubPublish100: Load = (context) => publishThenPull(context, BATCH);

export interface Names {
  readonly topic: string;
  readonly subscription: string;
}

async function publishThenPull({ job, label }: RunContext, batch: number): Promise<Run> {
  const ledger = new Ledger();
  const connections = await openAll(job.port);
  const names = await create(connections, label);
  const publish = await phase(`publish${String(batch)}`, job, async () => {
    const end = performance.now() + job.seconds * 1000;
    await Promise.all(
      Array.from({ length: CALLS_OPEN }, async (_, index) => {
        const template = pubsubPublishTemplate(names.topic, batch);
        while (performance.now() < end && ledger.sent < job.messagesMax) {
          await publishOnce(pick(connections, index), template, ledger);
        }
      }),
    );
    return ledger.confirmed;
  });
  const pull = await phase('pull+ack', job, async () => {
    const puller = new Puller(connections, names.subscription, ledger);
    await waitUntil(
      () => puller.failure !== undefined || ledger.received >= ledger.confirmed,
      job.drainSecondsMax,
    );
    await puller.stop();
    return ledger.received;
  });
  const drained = ledger.received >= ledger.confirmed;
  await remove(connections, names);
  return { phases: [publish, pull], counts: ledger.counts(), drained };
}

/** 200 publishes a second with the pull streams open: the way from publish to pull. */
export const pubsubLatency: Load = async ({ job, label }) => {
  const ledger = new Ledger(true);
  const connections = await openAll(job.port);
  const names = await create(connections, label);
  const puller = new Puller(connections, names.subscription, ledger);
  await sleep(200);
  const run = await phase('e2e at 200/s', job, async () => {
    await paced(LATENCY_PER_SECOND, job.seconds, () => {
      const template = pubsubPublishTemplate(names.topic, 1);
      publishOnce(pick(connections, 0), template, ledger).catch(
        (error: unknown) => (puller.failure ??= error),
      );
    });
    await waitUntil(
      () => puller.failure !== undefined || ledger.received >= ledger.sent,
      job.drainSecondsMax,
    );
    return ledger.received;
  });
  await puller.stop();
  await remove(connections, names);
  const counts = ledger.counts();
  return {
    phases: [{ ...run, latencyMs: latencies(ledger) }],
    counts,
    drained: counts.received === counts.sent,
  };
};

/** The same bytes as single publishes, answered by a bare HTTP/2 server that sends the message back. */
export const http2Echo: Load = async ({ job }) => {
  const ledger = new Ledger();
  const connections = await openAll(job.port);
  const run = await phase('echo', job, async () => {
    const end = performance.now() + job.seconds * 1000;
    await Promise.all(
      Array.from({ length: CALLS_OPEN }, async (_, index) => {
        const { request, sequenceOffsets } = pubsubPublishTemplate('projects/bench/topics/echo', 1);
        while (performance.now() < end) {
          const sequence = ledger.send();
          writeSequence(request, sequenceOffsets[0] ?? 0, sequence);
          const answer = await pick(connections, index).grpc.unary('/echo/Echo', request);
          expect(answer.length === request.length, 'not an echo', answer);
          ledger.confirm(sequence);
          ledger.receive(readSequence(answer, sequenceOffsets[0] ?? 0));
        }
      }),
    );
    return ledger.confirmed;
  });
  for (const connection of connections) connection.close();
  return { phases: [run], counts: ledger.counts(), drained: true };
};

export async function publishOnce(
  connection: PubSubConnection,
  template: PublishTemplate,
  ledger: Ledger,
): Promise<void> {
  const from = ledger.sent;
  for (const offset of template.sequenceOffsets) writeSequence(template.request, offset, ledger.send());
  const ids = await connection.publish(template.request);
  expect(ids === template.sequenceOffsets.length, `a publish answered with ${String(ids)} ids`);
  for (let sequence = from; sequence < from + ids; sequence++) ledger.confirm(sequence);
}

/** Streams that receive, check, count and acknowledge. */
export class Puller {
  readonly #streams: PullStream[] = [];
  failure: unknown;
  #stopped = false;

  constructor(connections: readonly PubSubConnection[], subscription: string, ledger: Ledger) {
    for (let index = 0; index < PULL_STREAMS; index++) {
      const stream: PullStream = pick(connections, index).streamingPull({
        subscription,
        onMessages: (messages) => {
          for (const message of messages) {
            if (message.data.length !== BODY_BYTES) this.failure ??= new Error('a body of another length');
            ledger.receive(readSequence(message.data, 0));
          }
          if (messages.length > 0) stream.ack(messages.map((message) => message.ackId));
        },
        onEnd: (end) => {
          if (!this.#stopped) this.failure ??= new Error(`pull ended: ${String(end.status)} ${end.message}`);
        },
      });
      this.#streams.push(stream);
    }
  }

  /** Lets the last acknowledgements go out, then ends the streams. Throws what went wrong. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await sleep(20);
    for (const stream of this.#streams) stream.cancel();
    if (this.failure !== undefined) throw this.failure as Error;
  }
}

export async function openAll(port: number): Promise<readonly PubSubConnection[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => PubSubConnection.open(port)));
}

export async function create(connections: readonly PubSubConnection[], label: string): Promise<Names> {
  const names = {
    topic: `projects/bench/topics/t-${label}`,
    subscription: `projects/bench/subscriptions/s-${label}`,
  };
  const connection = pick(connections, 0);
  await connection.createTopic(names.topic);
  await connection.createSubscription(names.subscription, names.topic);
  return names;
}

export async function remove(connections: readonly PubSubConnection[], names: Names): Promise<void> {
  const connection = pick(connections, 0);
  await connection.deleteSubscription(names.subscription);
  await connection.deleteTopic(names.topic);
  for (const one of connections) one.close();
}

export function pick(connections: readonly PubSubConnection[], index: number): PubSubConnection {
  const connection = connections[index % connections.length];
  if (connection === undefined) throw new Error('no connection');
  return connection;
}
