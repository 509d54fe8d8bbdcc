import { Ledger } from '../client/ledger.js';
import { pubsubPublishTemplate, type PubSubConnection } from '../client/pubsub.js';
import { phase, together, waitUntil, type Load, type LoadJob, type Phase, type Run } from './job.js';
import { create, openAll, pick, publishOnce, Puller, remove, type Names } from './pubsub.js';

const BATCH = 100;
const CALLS_OPEN = 8;
/** Few enough that it does not matter how a server keeps a backlog. */
const SHALLOW_MESSAGES = 1_000;

/** Pulls and acknowledges all of a backlog of `messagesMax`; only the pulling is timed. */
export const pubsubDeep: Load = async ({ job, label }) => {
  const ledger = new Ledger();
  return result(await round(job, label, ledger, job.messagesMax), ledger);
};

/** The same from backlogs of a thousand, each of a subscription of its own, for the length of a timed phase. */
export const pubsubShallow: Load = async ({ job, label }) => {
  const ledger = new Ledger();
  const rounds: Phase[] = [];
  let seconds = 0;
  while (seconds < job.seconds && ledger.received >= ledger.confirmed) {
    const one = await round(job, `${label}-${String(rounds.length)}`, ledger, SHALLOW_MESSAGES);
    rounds.push(one);
    seconds += one.seconds;
  }
  return result(together(rounds), ledger);
};

/** Fills a subscription and empties it again. */
async function round(job: LoadJob, label: string, ledger: Ledger, messages: number): Promise<Phase> {
  const connections = await openAll(job.port);
  const names = await create(connections, label);
  await fill(connections, names, ledger, messages);
  const pull = await drain(connections, names, ledger, job);
  await remove(connections, names);
  return pull;
}

async function fill(
  connections: readonly PubSubConnection[],
  names: Names,
  ledger: Ledger,
  messages: number,
): Promise<void> {
  const end = ledger.sent + messages;
  await Promise.all(
    Array.from({ length: CALLS_OPEN }, async (_, index) => {
      const template = pubsubPublishTemplate(names.topic, BATCH);
      while (ledger.sent < end) await publishOnce(pick(connections, index), template, ledger);
    }),
  );
}

async function drain(
  connections: readonly PubSubConnection[],
  names: Names,
  ledger: Ledger,
  job: LoadJob,
): Promise<Phase> {
  const before = ledger.received;
  let puller: Puller | undefined;
  const drained = await phase('pull+ack', job, async () => {
    const pulling = new Puller(connections, names.subscription, ledger);
    puller = pulling;
    await waitUntil(
      () => pulling.failure !== undefined || ledger.received >= ledger.confirmed,
      job.drainSecondsMax,
    );
    return ledger.received - before;
  });
  // It waits for its last acknowledgements a fixed while, which is longer than a shallow backlog takes.
  await puller?.stop();
  return drained;
}

function result(pull: Phase, ledger: Ledger): Run {
  return { phases: [pull], counts: ledger.counts(), drained: ledger.received >= ledger.confirmed };
}
