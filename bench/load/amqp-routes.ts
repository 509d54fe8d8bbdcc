import type { AmqpConnection } from '../client/amqp.js';
import { publishTemplate, type PublishTemplate } from '../client/amqp-frames.js';
import { bodyText } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { publishThenConsume } from './amqp.js';
import { Exercise } from './amqp-exercise.js';
import { sleep, type Load } from './job.js';

const QUEUES = 10;
const TOPIC_BINDINGS = 10_000;
/** Coprime to the number of bindings: every one has its turn, none behind its neighbour. */
const TOPIC_STEP = 7919;

const indices = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** Persistent publishes with confirms to a fanout exchange with ten durable queues, which ten consumers drain. */
export const amqpFanOut: Load = async ({ job, label }) => {
  const exchange = `bench-${label}`;
  const queues = indices(QUEUES).map((at) => `${exchange}-${String(at)}`);
  const template = publishTemplate('', bodyText(), { exchange });
  const ledger = new Ledger(false, QUEUES);
  const exercise = await Exercise.open({
    port: job.port,
    ledger,
    queues,
    confirms: true,
    template: () => template,
    copyOf: (_, queue) => queue,
    declare: async (publisher) => {
      await publisher.declareExchange(exchange, 'fanout');
      for (const queue of queues) publisher.bindQueue(queue, exchange, '');
      await publisher.declareQueue(queues[0] ?? '', true);
    },
    remove: async (publisher) => {
      for (const queue of queues) await publisher.deleteQueue(queue);
      await publisher.deleteExchange(exchange);
    },
  });
  return publishThenConsume(exercise, job, ledger);
};

/** Binding `at` of the topic exchange, in three shapes; only `plant.{at}.heat` matches it. */
function topicPattern(at: number): string {
  if (at % 3 === 0) return `plant.${String(at)}.heat`;
  return at % 3 === 1 ? `plant.${String(at)}.*` : `*.${String(at)}.#`;
}

const bindingOf = (sequence: number): number => (sequence * TOPIC_STEP) % TOPIC_BINDINGS;

/** The exchange of this process; making 10 000 durable bindings takes some servers longer than a run. */
const TOPIC_EXCHANGE = `bench-topic-${String(process.pid)}`;
const TOPIC_QUEUES = indices(QUEUES).map((at) => `${TOPIC_EXCHANGE}-${String(at)}`);
let bound: Promise<void> | undefined;

async function bindAll(publisher: AmqpConnection): Promise<void> {
  await publisher.declareExchange(TOPIC_EXCHANGE, 'topic');
  for (const at of indices(TOPIC_BINDINGS)) {
    publisher.bindQueue(TOPIC_QUEUES[at % QUEUES] ?? '', TOPIC_EXCHANGE, topicPattern(at));
  }
  await publisher.declareQueue(TOPIC_QUEUES[0] ?? '', true);
}

/** What a cut drain left goes, also what comes back from its consumers a moment later. */
async function purgeAll(publisher: AmqpConnection): Promise<void> {
  for (let purged = 1; purged > 0;) {
    purged = 0;
    for (const queue of TOPIC_QUEUES) purged += await publisher.purgeQueue(queue);
    if (purged > 0) await sleep(200);
  }
}

/** Persistent publishes with confirms to a topic exchange; each key matches one of its 10 000 bindings. */
export const amqpTopic: Load = async ({ job }) => {
  const templates: PublishTemplate[] = indices(TOPIC_BINDINGS).map((at) =>
    publishTemplate(`plant.${String(at)}.heat`, bodyText(), { exchange: TOPIC_EXCHANGE }),
  );
  const ledger = new Ledger();
  const exercise = await Exercise.open({
    port: job.port,
    ledger,
    queues: TOPIC_QUEUES,
    confirms: true,
    template: (sequence) => templates[bindingOf(sequence)] as PublishTemplate,
    copyOf: (sequence, queue) => (bindingOf(sequence) % QUEUES === queue ? 0 : undefined),
    declare: (publisher) => (bound ??= bindAll(publisher)),
    remove: purgeAll,
  });
  return publishThenConsume(exercise, job, ledger);
};
