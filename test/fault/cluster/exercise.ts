import { SeededIds } from '../../../src/base/ids.js';
import { Patience, sleep } from '../exercise.js';
import { StallWatch } from '../stall-watch.js';
import { Violation } from '../track.js';
import { amqpWire } from './amqp-wire.js';
import { holdMs, schedule, type Fault } from './faults.js';
import { Lane } from './lane.js';
import { Machines } from './machines.js';
import { nativeWire } from './native-wire.js';
import { pubsubWire } from './pubsub-wire.js';
import { sqsWire } from './sqs-wire.js';

export interface ClusterFaultOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Names of the faults, in their order; empty = all, shuffled. */
  readonly faults?: readonly string[];
  /** After so many rounds everything is received, and the queues must be empty. */
  readonly drainEvery?: number;
  readonly log?: (line: string) => void;
}

const VISIBILITY_SECONDS = 10;
const DRAIN_EVERY = 10;
/** Sends and receives of every protocol that show that it works. */
const FLOWING = 5;

/**
 * Three NATS servers and three nodes on machines of their own; clients of every protocol send and consume through all nodes
 * while machines die, freeze and lose their network, one or two at a time. Throws the first broken promise, with the seed in the message.
 */
export async function runClusterFaults(options: ClusterFaultOptions): Promise<readonly string[]> {
  const { seed, log = () => undefined } = options;
  const run = new Run(options);
  try {
    await run.start();
    const lines: string[] = [];
    const say = (line: string): void => {
      lines.push(line);
      log(line);
    };
    await run.rounds(say);
    return lines;
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`seed ${seed}, ${run.where}: ${text}\n${await run.transcript()}`, { cause: error });
  } finally {
    await run.stop();
  }
}

class Run {
  readonly #o: ClusterFaultOptions;
  readonly #random: SeededIds;
  readonly #machines = new Machines();
  readonly #lanes: readonly Lane[];
  readonly #setUp: () => Promise<void>;
  where = 'at the start';

  constructor(options: ClusterFaultOptions) {
    this.#o = options;
    this.#random = new SeededIds(options.seed);
    const wires = [
      sqsWire(false, VISIBILITY_SECONDS),
      sqsWire(true, VISIBILITY_SECONDS),
      pubsubWire,
      amqpWire,
      nativeWire,
    ];
    const { hosts } = this.#machines;
    // Each protocol begins at another node.
    this.#lanes = wires.map((wire, i) => new Lane(wire, [...hosts.slice(i % 3), ...hosts.slice(0, i % 3)]));
    this.#setUp = async () => {
      for (const wire of wires) await patiently((tries) => wire.setUp(hosts[tries % hosts.length] ?? ''));
    };
  }

  async start(): Promise<void> {
    await this.#machines.start();
    await this.#setUp();
    for (const lane of this.#lanes) lane.start();
    await this.#flow();
  }

  async rounds(say: (line: string) => void): Promise<void> {
    const { rounds, faults = [], drainEvery = DRAIN_EVERY } = this.#o;
    const scheduled = schedule(faults, this.#random);
    for (let round = 1; round <= rounds; round++) {
      const fault = scheduled.next().value;
      this.where = `round ${round} of ${rounds}, ${fault.name}`;
      say(`${round} ${await this.#round(fault)}`);
      if (round % drainEvery === 0 && round < rounds) {
        await this.#drain();
        for (const lane of this.#lanes) lane.start();
        await this.#flow();
      }
    }
    this.where = 'at the end';
    await this.#drain();
    say(this.#lanes.map(({ summary }) => summary).join('; '));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.stop()));
    await this.#machines.stop();
  }

  async transcript(): Promise<string> {
    const troubles = this.#lanes.map(
      ({ name, retried }) =>
        `${name}: ${[...retried].map(([text, count]) => `${count} × ${text}`).join('; ')}`,
    );
    return `${troubles.join('\n')}\n${this.#machines.transcript}\n${await this.#machines.replicas}`;
  }

  async #round(fault: Fault): Promise<string> {
    const ms = holdMs(this.#random);
    const stalls = new StallWatch();
    for (const lane of this.#lanes) lane.mark();
    const strike = await fault.aim(this.#machines);
    const undo = await strike();
    await sleep(ms);
    await undo();
    await this.#flow();
    const pauses = this.#lanes.map(({ name, pauses: { sends, receives } }) => {
      return `${name} ${sends.toFixed(0)}/${receives.toFixed(0)}`;
    });
    await this.#machines.settled();
    for (const lane of this.#lanes) lane.check();
    const { totalMs } = stalls;
    stalls.stop();
    const stalled = totalMs === 0 ? '' : `; this process stood still for ${totalMs.toFixed(0)} ms`;
    return `${fault.name} for ${ms} ms${stalled}; longest pause of sends/receives in ms: ${pauses.join(', ')}`;
  }

  async #flow(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.flows(FLOWING)));
    const { crashed } = this.#machines;
    if (crashed !== undefined) throw new Violation(crashed);
  }

  /** Everything that was confirmed comes, and nothing is left. */
  async #drain(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.drain()));
    const channels = this.#lanes.map(({ channel }) => channel);
    const patience = new Patience();
    for (;;) {
      for (const lane of this.#lanes) lane.check();
      const queues = await this.#machines.queues();
      const ours = queues.filter(({ channel }) => channels.includes(channel));
      if (ours.length !== channels.length) throw new Error(`the queues are ${JSON.stringify(queues)}`);
      const left = ours.filter(({ ready, delayed, inFlight }) => ready + delayed + inFlight > 0);
      if (left.length === 0) return;
      if (patience.isOver) throw new Violation(`queues do not run empty: ${JSON.stringify(left)}`);
      await sleep(100);
    }
  }
}

/** On a busy machine the first owner may not be the last, even before anything was done to it. */
async function patiently(work: (tries: number) => Promise<void>): Promise<void> {
  const patience = new Patience();
  for (let tries = 0; ; tries++) {
    try {
      await work(tries);
      return;
    } catch (error) {
      if (patience.isOver) throw error;
      await sleep(100);
    }
  }
}
