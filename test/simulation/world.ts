import { silentLog, type Log } from '../../src/base/log.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import { journalNames } from '../../src/journal/jetstream/index.js';
import { randomFrom, type Random } from '../support/random.js';
import { SimulatedBucket } from '../support/simulated-bucket.js';
import { SimulatedNetwork } from '../support/simulated-bus.js';
import { SimulatedStream } from '../support/simulated-stream.js';
import { ProcessClock, SimulatedTime, type ClockFaults } from '../support/simulated-time.js';
import type { Bug } from './bugs.js';
import { SimulatedClient } from './client.js';
import { Disasters, WALL_OFFSET_MS_MAX } from './disasters.js';
import { History, Violation } from './history.js';
import { FIFO, PLAIN } from './queues.js';
import { idOf, NodeProcess, type Serving } from './node.js';

const NODES = 3;
const CLIENTS = 3;
/** How long things go wrong, and how long everything may take to be well again. */
const TROUBLE_MS = 3_000;
const SETTLING_MS = 500;
const CALM_MS = 20_000;
const CALL_MS = 5_000;
/** Leases of clients that are gone are over by then. */
const LEASES_OVER_MS = 2 * WALL_OFFSET_MS_MAX + 3_000;
const EMPTY_PAUSE_MS = 200;

export interface WorldOptions {
  readonly seed: number;
  readonly bug?: Bug | undefined;
  /** Hears what happens, for somebody who looks into a seed. */
  readonly tell?: ((line: string) => void) | undefined;
}

/** A machine: its clocks go their own way, and processes begin and end on it. */
interface Machine {
  readonly faults: ClockFaults;
  process: NodeProcess | undefined;
}

/** Nodes, clients, NATS and the network between them, in one virtual time. The same seed gives the same history. */
export class World {
  readonly seed: number;
  readonly bug: Bug | undefined;
  readonly time = new SimulatedTime();
  readonly random: Random;
  readonly history = new History();
  readonly network: SimulatedNetwork;
  readonly servers = {
    log: new SimulatedStream(),
    checkpoints: new SimulatedStream(),
    bucket: new SimulatedBucket(),
    names: journalNames('sim', 0),
  };
  readonly nodeNames = Array.from({ length: NODES }, (_, i) => `n${i}`);
  readonly machines: Machine[];
  isEnding = false;
  readonly #tell: ((line: string) => void) | undefined;
  #failure: Error | undefined;
  #members = 0;

  constructor(options: WorldOptions) {
    this.seed = options.seed;
    this.bug = options.bug;
    this.#tell = options.tell;
    this.random = randomFrom(options.seed);
    this.network = new SimulatedNetwork(this.time, this.random);
    this.servers.log.isUnfenced = options.bug === 'no-fencing';
    this.servers.checkpoints.isUnfenced = options.bug === 'no-fencing-of-checkpoints';
    this.machines = this.nodeNames.map(() => ({
      faults: { wallOffsetMs: this.random.below(2000) - 1000, rate: 0.98 + this.random.next() * 0.04 },
      process: undefined,
    }));
  }

  /** Everything at once: trouble, calm, and the end in which everything is looked at. Rejects with what must not be. */
  async run(): Promise<History> {
    for (let i = 0; i < NODES; i++) this.start(i);
    for (let i = 0; i < CLIENTS; i++) {
      const name = `c${i}`;
      new SimulatedClient(this, name, this.network.join(name, new ProcessClock(this.time)));
    }
    const disasters = new Disasters(this);
    disasters.begin();
    await this.#pass(() => this.time.now >= TROUBLE_MS);
    this.isEnding = true;
    disasters.end();
    const wellAt = this.time.now;
    await this.#passMs(SETTLING_MS);
    await this.#pass(() => this.#owner() !== undefined || this.time.now > wellAt + CALM_MS);
    await this.#empty();
    return this.history;
  }

  start(index: number): void {
    const machine = this.machines[index] as Machine;
    machine.process = new NodeProcess(this, this.nodeNames[index] as string, machine.faults);
  }

  /** Names of members are never used again, as in the product. */
  nextMember(): number {
    this.#members += 1;
    return this.#members;
  }

  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }

  tell(line: string): void {
    this.#tell?.(`${this.time.now} ${line}`);
  }

  logOf(name: string): Log {
    if (this.#tell === undefined) return silentLog;
    const say = (message: string, fields?: object): void =>
      this.tell(`${name}: ${message} ${JSON.stringify(fields ?? {})}`);
    const log: Log = { debug: say, info: say, warn: say, error: say, child: () => log };
    return log;
  }

  #owner(): Serving | undefined {
    for (const { process } of this.machines)
      if (process?.serving?.ownership.tenure.held === true) return process.serving;
    return undefined;
  }

  /** Takes everything out of all queues through the owner, and looks whether it is what it must be. */
  async #empty(): Promise<void> {
    const left = new Set<string>();
    const endsAt = this.time.now + LEASES_OVER_MS;
    for (;;) {
      const serving = this.#owner();
      if (serving === undefined) throw new Violation('nobody serves although all is well');
      for (const queue of [PLAIN, FIFO]) await this.#take(serving, queue, left);
      const found = serving.broker.figures().messages;
      if (found === 0) break;
      if (this.time.now > endsAt) throw new Violation(`${found} messages are there that nobody gets`);
      await this.#passMs(EMPTY_PAUSE_MS);
    }
    for (const queue of [PLAIN, FIFO]) {
      const {
        ready = 0,
        delayed = 0,
        inFlight = 0,
        bytes = 0,
      } = this.#owner()?.broker.queueStats(queue) ?? {};
      if (ready + delayed + inFlight + bytes > 0)
        throw new Violation(`${queue} is empty and counts something`);
    }
    this.history.checkEnd(left);
  }

  async #take({ broker, epoch }: Serving, queue: ChannelName, into: Set<string>): Promise<void> {
    const request = { max: 10, waitMs: 0, handOut: { kind: 'lease', leaseMs: 60_000 } } as const;
    for (;;) {
      const found = await this.#finish(broker.receive({ ...request, channel: queue }));
      if (found.length === 0) return;
      const ids = found.map(({ message }) => idOf(message.body));
      this.history.handedOut(ids, epoch);
      for (const id of ids) {
        // Nobody else takes any more, and no lease ends: the other is no redelivery.
        if (into.has(id)) throw new Violation(`${id} is there twice`);
        into.add(id);
      }
      this.history.ackAsked(ids);
      await this.#finish(broker.settle({ tokens: found, settlement: { kind: 'ack' }, durable: true }));
      this.history.acked(ids, true, epoch);
    }
  }

  /** Lets the world go on until `work` has its end. */
  async #finish<T>(work: Promise<T>): Promise<T> {
    const state: { done: boolean } = { done: false };
    const watched = work.finally(() => (state.done = true));
    watched.catch(() => undefined);
    const endsAt = this.time.now + CALL_MS;
    await this.#pass(() => state.done || this.time.now > endsAt);
    if (!state.done) throw new Violation('an owner does not answer although all is well');
    return watched;
  }

  #passMs(ms: number): Promise<void> {
    const endsAt = this.time.now + ms;
    return this.#pass(() => this.time.now >= endsAt);
  }

  async #pass(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      this.time.step(this.time.now + 10);
      await new Promise((resolve) => setImmediate(resolve));
      this.#check();
    }
  }

  /** After every step. */
  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
    let holder: string | undefined;
    for (const { process } of this.machines) {
      if (process?.isPaused !== false || process.serving === undefined) continue;
      const { broker, ownership } = process.serving;
      if (!ownership.tenure.held) continue;
      if (holder !== undefined) throw new Violation(`${holder} and ${process.name} are both the owner`);
      holder = process.name;
      for (const queue of [PLAIN, FIFO]) {
        const stats = broker.queueStats(queue);
        if (stats === undefined) throw new Violation(`${queue} is gone`);
        this.history.checkStats(queue, stats);
      }
      this.history.checkCount(broker.figures().messages);
    }
  }
}
