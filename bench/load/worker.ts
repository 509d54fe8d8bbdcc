import { amqpBoth, amqpLatency, amqpPublishThenConsume, amqpTransient } from './amqp.js';
import { amqpFanOut, amqpTopic } from './amqp-routes.js';
import type { Load, LoadJob, Run } from './job.js';
import { natsBoth, natsBothR3, natsPublish } from './nats.js';
import { nativeEvents, nativeRequests } from './native-live.js';
import { nativeBoth, nativeLatency, nativeUpstream, nativeUpstream100 } from './native.js';
import { pubsubDeep, pubsubShallow } from './pubsub-backlog.js';
import { http2Echo, pubsubLatency, pubsubPublish1, pubsubPublish100 } from './pubsub.js';
import { snsPublish10 } from './sns.js';
import { sqsDeep, sqsShallow } from './sqs-backlog.js';
import { httpEcho, sqsLatency, sqsSend1, sqsSend10 } from './sqs.js';

const LOADS: Readonly<Record<string, Load>> = {
  'amqp-both': amqpBoth,
  'amqp-fanout': amqpFanOut,
  'amqp-latency': amqpLatency,
  'amqp-publish': amqpPublishThenConsume,
  'amqp-topic': amqpTopic,
  'amqp-transient': amqpTransient,
  'http-echo': httpEcho,
  'http2-echo': http2Echo,
  'native-both': nativeBoth,
  'native-events': nativeEvents,
  'native-latency': nativeLatency,
  'native-requests': nativeRequests,
  'native-upstream': nativeUpstream,
  'native-upstream100': nativeUpstream100,
  'nats-both': natsBoth,
  'nats-both-r3': natsBothR3,
  'nats-publish': natsPublish,
  'pubsub-deep': pubsubDeep,
  'pubsub-latency': pubsubLatency,
  'pubsub-publish1': pubsubPublish1,
  'pubsub-publish100': pubsubPublish100,
  'pubsub-shallow': pubsubShallow,
  'sns-publish10': snsPublish10,
  'sqs-deep': sqsDeep,
  'sqs-latency': sqsLatency,
  'sqs-send1': sqsSend1,
  'sqs-send10': sqsSend10,
  'sqs-shallow': sqsShallow,
};

/** A run beside busier processes than this is repeated; the quietest ones count. */
const OTHER_CORES_MAX = 0.2;
const TRIES_MAX = 2;

/** Runs one load against a running server, a warm-up first, and prints its runs as one line of JSON. */
async function main(): Promise<void> {
  const job = JSON.parse(process.argv[2] ?? '{}') as LoadJob;
  const load = LOADS[job.load];
  if (load === undefined) throw new Error(`no load is called ${job.load}`);
  const id = `${String(process.pid)}-${Date.now().toString(36)}`;
  const warmUp = { ...job, seconds: job.warmUpSeconds };
  await load({ job: warmUp, label: `${id}-warm` });
  const runs: Run[] = [];
  const quiet = () => runs.filter((run) => otherCores(run) <= OTHER_CORES_MAX).length;
  while (runs.length < job.runs || (quiet() < job.runs && runs.length < job.runs * TRIES_MAX)) {
    runs.push(await load({ job, label: `${id}-${String(runs.length)}` }));
  }
  runs.sort((a, b) => otherCores(a) - otherCores(b));
  process.stdout.write(`${JSON.stringify(runs.slice(0, job.runs))}\n`);
}

function otherCores(run: Run): number {
  return Math.max(...run.phases.map((phase) => phase.otherCores));
}

await main();
// Sockets of a cut drain may still be open.
process.exit(0);
