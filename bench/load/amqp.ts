import { publishTemplate } from '../client/amqp-frames.js';
import { bodyText } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { Exercise } from './amqp-exercise.js';
import { paced, phase, type Load, type LoadJob, type Run, type RunContext } from './job.js';
import { latencies } from './sqs.js';

const LATENCY_PER_SECOND = 200;

interface Transport {
  readonly transient?: boolean;
  readonly confirms?: boolean;
}

/** A publishing and a consuming connection on one durable queue. */
function onOneQueue({ job, label }: RunContext, ledger: Ledger, transport: Transport = {}) {
  const { transient = false, confirms = true } = transport;
  const queue = `bench-${label}`;
  const template = publishTemplate(queue, bodyText(), { transient });
  return Exercise.open({ port: job.port, ledger, queues: [queue], confirms, template: () => template });
}

/** Publishes until the time or the messages are over, then drains with one ack a message. */
export async function publishThenConsume(exercise: Exercise, job: LoadJob, ledger: Ledger): Promise<Run> {
  const publish = await phase('publish', job, async () => {
    await exercise.publishFor(job.seconds, job.messagesMax);
    return ledger.confirmed;
  });
  const consume = await phase('consume ack', job, async () => {
    await exercise.consume();
    await exercise.received(job.drainSecondsMax);
    return ledger.received;
  });
  return { phases: [publish, consume], ...(await exercise.finish()) };
}

/** Persistent publishes with confirms (at most 1000 open), then one consumer drains with one ack a message. */
export const amqpPublishThenConsume: Load = async (context) => {
  const ledger = new Ledger();
  return publishThenConsume(await onOneQueue(context, ledger), context.job, ledger);
};

/** Transient publishes without confirms, held back by the connection alone; the queue's count ends the phase. */
export const amqpTransient: Load = async (context) => {
  const ledger = new Ledger();
  const exercise = await onOneQueue(context, ledger, { transient: true, confirms: false });
  return publishThenConsume(exercise, context.job, ledger);
};

/** Publishing with confirms and consuming with acks at once, on two connections. */
export const amqpBoth: Load = async (context) => {
  const { job } = context;
  const ledger = new Ledger();
  const exercise = await onOneQueue(context, ledger);
  await exercise.consume();
  const both = await phase('publish confirm + consume ack', job, async () => {
    await exercise.publishFor(job.seconds, Number.POSITIVE_INFINITY);
    await exercise.received(job.drainSecondsMax);
    return ledger.received;
  });
  return { phases: [both], ...(await exercise.finish()) };
};

/** 200 persistent publishes a second: the way from publish to delivery. */
export const amqpLatency: Load = async (context) => {
  const { job } = context;
  const ledger = new Ledger(true);
  const exercise = await onOneQueue(context, ledger);
  await exercise.consume();
  const run = await phase('e2e at 200/s', job, async () => {
    await paced(LATENCY_PER_SECOND, job.seconds, () => exercise.publish());
    await exercise.received(job.drainSecondsMax);
    return ledger.received;
  });
  return { phases: [{ ...run, latencyMs: latencies(ledger) }], ...(await exercise.finish()) };
};
