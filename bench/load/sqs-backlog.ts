import { Ledger } from '../client/ledger.js';
import type { SqsConnection } from '../client/sqs.js';
import { phase, together, type Load, type LoadJob, type Phase } from './job.js';
import { BATCH_MAX, first, openAll, sendAll, sqsSenders } from './sqs.js';
import { Drain, sqsQueue, type SqsQueue } from './sqs-drain.js';

const CONNECTIONS = 16;
/** Few enough that it does not matter how a server keeps a backlog. */
const SHALLOW_MESSAGES = 1_000;

/** Receives and deletes all of a backlog of `messagesMax`, in tens; only that is timed. */
export const sqsDeep: Load = async ({ job, label }) => {
  const ledger = new Ledger();
  const connections = await openAll(job.port, CONNECTIONS);
  const queue = await sqsQueue(first(connections), `bench-${label}`);
  const run = await round(job, { connections, queue, ledger, messages: job.messagesMax });
  await end(connections, queue);
  return { phases: [run], counts: ledger.counts(), drained: ledger.received >= ledger.confirmed };
};

/** The same from backlogs of a thousand, for the length of a timed phase. */
export const sqsShallow: Load = async ({ job, label }) => {
  const ledger = new Ledger();
  const connections = await openAll(job.port, CONNECTIONS);
  const queue = await sqsQueue(first(connections), `bench-${label}`);
  const rounds: Phase[] = [];
  let seconds = 0;
  while (seconds < job.seconds && ledger.received >= ledger.confirmed) {
    const one = await round(job, { connections, queue, ledger, messages: SHALLOW_MESSAGES });
    rounds.push(one);
    seconds += one.seconds;
  }
  await end(connections, queue);
  return {
    phases: [together(rounds)],
    counts: ledger.counts(),
    drained: ledger.received >= ledger.confirmed,
  };
};

interface Backlog {
  readonly connections: readonly SqsConnection[];
  readonly queue: SqsQueue;
  readonly ledger: Ledger;
  readonly messages: number;
}

/** Fills a queue and empties it again. */
async function round(job: LoadJob, { connections, queue, ledger, messages }: Backlog): Promise<Phase> {
  const [sent, before] = [ledger.sent + messages, ledger.received];
  const senders = sqsSenders(connections, queue, BATCH_MAX, ledger);
  await Promise.all(senders.map((sender) => sendAll(sender, () => ledger.sent < sent)));
  return phase('recv10+del10', job, async () => {
    const until = performance.now() + job.drainSecondsMax * 1000;
    const drain = new Drain(ledger.confirmed - before, () => performance.now() < until);
    await Promise.all(connections.map((connection) => drain.run(connection, queue, ledger)));
    return ledger.received - before;
  });
}

async function end(connections: readonly SqsConnection[], queue: SqsQueue): Promise<void> {
  await first(connections).call('DeleteQueue', { QueueUrl: queue.url });
  for (const connection of connections) connection.close();
}
