import { SeededIds } from '../../src/base/ids.js';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker, type BrokerProcess } from '../support/process.js';
import { sleep, unlessDead, type Exercise, type Life } from './exercise.js';
import { AmqpExercise } from './exercises/amqp.js';
import { DeadLetterExercise } from './exercises/dead-letters.js';
import { EventsStoreExercise } from './exercises/events-store.js';
import { NativeExercise } from './exercises/native.js';
import { PubSubExercise } from './exercises/pubsub.js';
import { PurgeExercise } from './exercises/purge.js';
import { ResourceExercise } from './exercises/resources.js';
import { SqsExercise } from './exercises/sqs.js';
import { SqsFifoExercise } from './exercises/sqs-fifo.js';
import { Timeline } from './timeline.js';

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** Names of the exercises to run; empty = all. */
  readonly only?: readonly string[];
  readonly log?: (line: string) => void;
}

/** Long: the machine may stand still for minutes. */
const READY_MS_MAX = 600_000;
/** How long the load runs before the kill: at least, and at most so much more. */
const LIFE_MS_MIN = 150;
const LIFE_MS_MORE = 900;

/**
 * Starts the product, loads it over every protocol, kills it at a random moment, starts it again on the same store and
 * checks every promise, so many times. Returns a summary; throws what was broken, with the seed in the message.
 */
export async function runKills({
  kills,
  seed,
  only = [],
  log = () => undefined,
}: KillOptions): Promise<string> {
  const random = new SeededIds(seed);
  const timeline = new Timeline();
  const all = exercises(timeline);
  const chosen = all.filter(({ name }) => only.length === 0 || only.includes(name));
  const folder = temporaryFolder();
  let broker = await spawnBroker({ folder: folder.path, readyTimeoutMs: READY_MS_MAX });
  let kill = 0;
  try {
    const life = (): Life => ({ port: (name) => broker.port(name), random, timeline, kills: kill });
    for (const exercise of chosen) await exercise.setUp(life());
    for (kill = 0; kill < kills; kill++) {
      const ms = LIFE_MS_MIN + random.below(LIFE_MS_MORE);
      await loadAndKill(chosen, life(), broker, ms);
      const start = performance.now();
      broker = await spawnBroker({ folder: folder.path, readyTimeoutMs: READY_MS_MAX });
      const open = performance.now() - start;
      await Promise.all(chosen.map((exercise) => exercise.verify(life())));
      const check = performance.now() - start - open;
      log(`kill ${kill + 1} after ${ms} ms; up in ${open.toFixed(0)} ms, checked in ${check.toFixed(0)} ms`);
    }
    return chosen.map((exercise) => `${exercise.name}: ${exercise.summary()}`).join('; ');
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const state = await stateOf(broker);
    throw new Error(`seed ${seed}, kill ${kill + 1} of ${kills}: ${text}\n${state}`, { cause: error });
  } finally {
    await broker.kill();
    folder.remove();
  }
}

function exercises(timeline: Timeline): readonly Exercise[] {
  return [
    new SqsExercise(timeline),
    new SqsFifoExercise(timeline),
    new PubSubExercise(timeline),
    new AmqpExercise(timeline),
    new NativeExercise(timeline),
    new EventsStoreExercise(timeline),
    new PurgeExercise(),
    new DeadLetterExercise(timeline),
    new ResourceExercise(timeline),
  ];
}

async function loadAndKill(
  chosen: readonly Exercise[],
  life: Life,
  broker: BrokerProcess,
  ms: number,
): Promise<void> {
  let dead = false;
  const loads = chosen.map((exercise) =>
    unlessDead(
      () => dead,
      () => exercise.load(life, () => dead),
    ),
  );
  // A load that fails while the broker lives ends the life at once.
  await Promise.race([sleep(ms), ...loads]);
  const killed = broker.kill();
  dead = true;
  await killed;
  await Promise.all(loads);
  for (const exercise of chosen) exercise.killed();
}

/** What the broker said and what its queues hold: for the message of a failure. */
async function stateOf(broker: BrokerProcess): Promise<string> {
  const log = broker.lines.slice(-20).map((line) => JSON.stringify(line));
  const url = `http://127.0.0.1:${broker.port('api')}/api/v1/queues`;
  const queues = await fetch(url).then(
    (answer) => answer.text(),
    (error: unknown) => String(error),
  );
  return [...log, broker.errorOutput().slice(-2000), queues].join('\n');
}
