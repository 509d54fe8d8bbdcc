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
import { StallWatch } from './stall-watch.js';
import { Timeline } from './timeline.js';
import { Violation } from './track.js';

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** Names of the exercises to run; empty = all. */
  readonly only?: readonly string[];
  readonly log?: (line: string) => void;
  /** Whether the store stays when a promise was broken; the error says where. */
  readonly keepStore?: boolean;
}

/** How long the load runs before the kill: at least, and at most so much more. */
const LIFE_MS_MIN = 150;
const LIFE_MS_MORE = 900;
/** Checks of one kill that stalls may cut short. */
const ATTEMPTS_MAX = 10;
/** A connection that breaks with its process is seen before the process's end is. */
const EXIT_SEEN_MS = 500;

/**
 * Starts the product, loads it over every protocol, kills it at a random moment, starts it again on the same store and
 * checks every promise, so many times. Returns a summary; throws what was broken, with the seed in the message. A machine
 * that stands still breaks no promise: connections that end for it cut a life short, which is killed and checked all the same.
 */
export async function runKills(options: KillOptions): Promise<string> {
  const run = new KillRun(options);
  try {
    return await run.all();
  } finally {
    await run.end();
  }
}

class KillRun {
  readonly #options: KillOptions;
  readonly #random: SeededIds;
  readonly #timeline = new Timeline();
  readonly #stalls = new StallWatch();
  readonly #folder = temporaryFolder();
  readonly #chosen: readonly Exercise[];
  #broker: BrokerProcess | undefined;
  #kills = 0;
  #keeps = false;
  /** Stalls before this life of the broker. */
  #stalledBefore = 0;

  constructor(options: KillOptions) {
    this.#options = options;
    this.#random = new SeededIds(options.seed);
    const { only = [] } = options;
    this.#chosen = exercises(this.#timeline).filter(({ name }) => only.length === 0 || only.includes(name));
  }

  async all(): Promise<string> {
    const { kills, seed, log = () => undefined } = this.#options;
    try {
      await this.#start();
      for (const exercise of this.#chosen) await exercise.setUp(this.#life());
      for (; this.#kills < kills; this.#kills++) log(await this.#round(log));
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const state = this.#broker === undefined ? '' : await stateOf(this.#broker);
      const stood = `this process stood still for ${seconds(this.#stalledMs)} in this life of the broker`;
      const place = `seed ${seed}, kill ${this.#kills + 1} of ${kills}`;
      this.#keeps = this.#options.keepStore === true;
      const kept = this.#keeps ? `\nthe store is kept in ${this.#folder.path}` : '';
      throw new Error(`${place}: ${text}\n${stood}${kept}\n${state}`, { cause: error });
    }
    return this.#chosen.map((exercise) => `${exercise.name}: ${exercise.summary()}`).join('; ');
  }

  async end(): Promise<void> {
    this.#stalls.stop();
    await this.#broker?.kill();
    if (!this.#keeps) this.#folder.remove();
  }

  /** One life with load, its end, and what is left after it. */
  async #round(log: (line: string) => void): Promise<string> {
    const ms = LIFE_MS_MIN + this.#random.below(LIFE_MS_MORE);
    const stalled = this.#stalls.totalMs;
    await this.#loadAndKill(ms, log);
    const start = performance.now();
    await this.#start();
    const open = performance.now() - start;
    for (let attempt = 1; !(await this.#check(log)); attempt++) {
      if (attempt === ATTEMPTS_MAX) throw new Error(`${attempt} checks in a row were cut short by stalls`);
      await this.#start();
    }
    const check = performance.now() - start - open;
    const stood = this.#stalls.totalMs - stalled;
    return (
      `kill ${this.#kills + 1} after ${ms} ms; up in ${open.toFixed(0)} ms, checked in ${check.toFixed(0)} ms` +
      `; ${await memoryOf(this.#living)}${stood > 0 ? `; stood still for ${seconds(stood)}` : ''}`
    );
  }

  get #living(): BrokerProcess {
    if (this.#broker === undefined) throw new Error('there is no broker');
    return this.#broker;
  }

  get #stalledMs(): number {
    return this.#stalls.totalMs - this.#stalledBefore;
  }

  #life(): Life {
    const broker = this.#living;
    return {
      port: (name) => broker.port(name),
      random: this.#random,
      timeline: this.#timeline,
      kills: this.#kills,
    };
  }

  async #start(): Promise<void> {
    this.#broker = await spawnBroker({ folder: this.#folder.path });
    this.#stalledBefore = this.#stalls.totalMs;
  }

  async #loadAndKill(ms: number, log: (line: string) => void): Promise<void> {
    const broker = this.#living;
    const life = this.#life();
    let dead = false;
    const isDead = (): boolean => dead;
    const loads = this.#chosen.map((exercise) => unlessDead(isDead, () => exercise.load(life, isDead)));
    try {
      // A load that fails while the broker lives ends the life at once.
      await Promise.race([sleep(ms), ...loads]);
    } catch (error) {
      await this.#stillAlive();
      this.#excuse(error, log);
    }
    const killed = broker.kill();
    dead = true;
    await killed;
    for (const load of await Promise.allSettled(loads)) {
      if (load.status === 'rejected') this.#excuse(load.reason, log);
    }
    for (const exercise of this.#chosen) exercise.killed();
  }

  /** Consumes and checks everything. False when a stall cut it short: then the broker was killed once more. */
  async #check(log: (line: string) => void): Promise<boolean> {
    const checks = this.#chosen.map((exercise) => exercise.verify(this.#life()));
    try {
      await Promise.all(checks);
      return true;
    } catch (error) {
      await this.#stillAlive();
      this.#excuse(error, log);
    }
    await this.#living.kill();
    await Promise.allSettled(checks);
    for (const exercise of this.#chosen) exercise.killed();
    return false;
  }

  /** Throws when the broker ended by itself: no stall excuses that. */
  async #stillAlive(): Promise<void> {
    const end = await Promise.race([this.#living.exited, sleep(EXIT_SEEN_MS)]);
    if (end !== undefined) throw new Violation(`the broker ended by itself: ${JSON.stringify(end)}`);
  }

  /** Throws the error again, unless it is a connection that broke in a life in which this process stood still. */
  #excuse(error: unknown, log: (line: string) => void): void {
    const stalledMs = this.#stalledMs;
    if (error instanceof Violation || stalledMs === 0) throw error;
    log(`cut short: this process stood still for ${seconds(stalledMs)}, then ${String(error)}`);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
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

/** What the broker said and what its queues hold, and when it stood still: for the message of a failure. */
async function stateOf(broker: BrokerProcess): Promise<string> {
  const log = broker.lines.slice(-20).map((line) => JSON.stringify(line));
  const [queues, metrics] = await Promise.all([ask(broker, '/api/v1/queues'), ask(broker, '/metrics')]);
  const delay = metrics.split('\n').filter((line) => line.startsWith('polymq_event_loop_delay_seconds'));
  return [...log, broker.errorOutput().slice(-2000), ...delay, queues].join('\n');
}

/** What the broker's heap and the store hold, so that growth over many kills shows. */
async function memoryOf(broker: BrokerProcess): Promise<string> {
  const metrics = await ask(broker, '/metrics');
  const figure = (name: string): string => {
    const value = metrics.split('\n').find((line) => line.startsWith(`polymq_${name} `));
    return value === undefined ? '?' : (Number(value.split(' ')[1]) / 1e6).toFixed(1);
  };
  return `heap ${figure('process_memory_bytes{kind="heap_used"}')} MB, store ${figure('store_used_bytes')} MB`;
}

function ask(broker: BrokerProcess, path: string): Promise<string> {
  return fetch(`http://127.0.0.1:${broker.port('api')}${path}`).then(
    (answer) => answer.text(),
    (error: unknown) => String(error),
  );
}
