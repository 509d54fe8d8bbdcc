import { SeededIds } from '../../src/base/ids.js';
import { silentLog } from '../../src/base/log.js';
import { ForwardedConnections } from '../../src/cluster/connections.js';
import { LocalBus } from '../../src/cluster/local/bus.js';
import { startCoordinator } from '../../src/cluster/nats/coordinator.js';
import { openBroker, type OpenBroker } from '../../src/core/broker.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import { BrokerError } from '../../src/core/errors.js';
import { UNCONTESTED } from '../../src/core/ports/tenure.js';
import type { Delivery, LeaseToken } from '../../src/core/queue/types.js';
import type { Cluster } from '../../src/app/cluster.js';
import { CLAIM } from '../../src/app/partition.js';
import { Ownership, TakeOverFailed } from '../../src/app/ownership.js';
import { SimulatedBucketClient } from '../support/simulated-bucket.js';
import { openJetStreamJournal } from '../../src/journal/jetstream/index.js';
import { ProcessClock, type ClockFaults } from '../support/simulated-time.js';
import { SimulatedConnection } from '../support/simulated-stream.js';
import { withBrokerBug, withJournalBug, withStreamBug } from './bugs.js';
import { Violation } from './history.js';
import { FIFO, PLAIN } from './queues.js';
import type { World } from './world.js';

const TIMES = { leaseMs: 500, beatMs: 100 };
const EXTENT_BYTES = 8192;
/** Small, so that large entries go in parts, and checkpoints too. */
const PAYLOAD_BYTES_MAX = 4096;
const CHECKPOINT_PART_BYTES = 2 * 1024;
const GIVE_UP_MS = 400;
const START_AGAIN_MS = 100;
/** Longer than a world lives: what is tried again is the same message, whenever that is. */
const DEDUP_MS = 60_000;
/** Small, so that checkpoints, the cleaner and discards run all the time. */
const LIMITS = { checkpointEveryBytes: 6000, cleanBelowShare: 0.6, cleanBytesPerRound: 8192 };
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Whose body it is. */
export function idOf(body: Uint8Array): string {
  return text(body).split(' ', 1)[0] as string;
}

export interface SendCall {
  readonly do: 'send';
  readonly batch: string;
  readonly messages: readonly { readonly id: string; readonly channel: string; readonly size: number }[];
  /** One that is tried again is the same. */
  readonly isKnown: boolean;
  /** Whoever consumes may have it before it is durable. */
  readonly early: boolean;
}
export interface ReceiveCall {
  readonly do: 'receive';
  readonly queue: string;
  readonly max: number;
  readonly waitMs: number;
  readonly leaseMs: number;
}
/** By a consumer who is there that long, and takes what is not durable yet. */
export interface ConsumeCall extends Omit<ReceiveCall, 'do'> {
  readonly do: 'consume';
}
export interface SettleCall {
  readonly do: 'ack' | 'nack' | 'extend';
  readonly durable: boolean;
  readonly tokens: readonly (LeaseToken & { readonly id: string })[];
}
export type Call = SendCall | ReceiveCall | ConsumeCall | SettleCall;

export interface Serving {
  readonly broker: OpenBroker;
  readonly ownership: Ownership;
  readonly epoch: number;
}

/** One life of a node, from its start to its crash or stop: the product's own parts, on simulated NATS. */
export class NodeProcess {
  readonly clock: ProcessClock;
  readonly name: string;
  readonly stopped: Promise<void>;
  serving: Serving | undefined;
  isPaused = false;
  readonly #world: World;
  readonly #log: SimulatedConnection;
  readonly #checkpoints: SimulatedConnection;
  readonly #bucket: SimulatedBucketClient;
  #ownership: Ownership | undefined;
  #stop: () => void = () => undefined;
  #isStopping = false;
  /** Called with the next append this node publishes. */
  onAppend: (() => void) | undefined;
  /** Likewise with the next part of a checkpoint. */
  onCheckpoint: (() => void) | undefined;

  constructor(world: World, name: string, faults: ClockFaults) {
    const { time, random, servers, network } = world;
    this.#world = world;
    this.name = name;
    this.clock = new ProcessClock(time, faults);
    const parts = { clock: time, own: this.clock, random, payloadBytesMax: PAYLOAD_BYTES_MAX };
    this.#log = new SimulatedConnection({ ...parts, stream: servers.log });
    this.#checkpoints = new SimulatedConnection({
      ...parts,
      stream: servers.checkpoints,
      payloadBytesMax: CHECKPOINT_PART_BYTES,
    });
    this.#bucket = new SimulatedBucketClient(servers.bucket, { time, own: this.clock, random });
    const publish = this.#log.publish.bind(this.#log);
    this.#log.publish = (subject, payload, expected) => {
      const published = publish(subject, payload, expected);
      this.onAppend?.();
      return published;
    };
    const publishPart = this.#checkpoints.publish.bind(this.#checkpoints);
    this.#checkpoints.publish = (subject, payload, expected) => {
      const published = publishPart(subject, payload, expected);
      this.onCheckpoint?.();
      return published;
    };
    network.join(name, this.clock).serve('broker', { request: (_from, body) => this.#answer(body) });
    this.stopped = this.#run();
    this.stopped.catch((error: unknown) => world.fail(error));
  }

  /** The crash. */
  kill(): void {
    this.clock.end();
    this.#log.cut();
    this.#checkpoints.cut();
    this.serving = undefined;
  }

  stop(): Promise<void> {
    this.#isStopping = true;
    this.#ownership?.cancel();
    this.#stop();
    return this.stopped;
  }

  pause(): void {
    this.isPaused = true;
    this.clock.pause();
  }

  resume(asleep: boolean): void {
    this.isPaused = false;
    this.clock.resume(asleep);
  }

  /** Cuts it off from NATS, or lets it back. */
  sever(isSevered: boolean): void {
    for (const one of [this.#log, this.#checkpoints, this.#bucket]) one.isSevered = isSevered;
  }

  setFaults(share: number, slowMs: number): void {
    const faults = { lost: share, ackLost: share, late: share, full: 0, readLost: share };
    this.#log.faults = faults;
    this.#checkpoints.faults = faults;
    this.#bucket.lost = share;
    this.#log.slowMs = slowMs;
  }

  async #run(): Promise<void> {
    const stopAsked = new Promise<string>((resolve) => (this.#stop = () => resolve('stopped')));
    while (!this.#stopping()) {
      const ownership = this.#newOwnership(`${this.name}-${this.#world.nextMember()}`);
      this.#ownership = ownership;
      let broker: OpenBroker | undefined;
      try {
        await ownership.join();
        broker = await this.#takeOver(ownership);
        this.serving = { broker, ownership, epoch: ownership.claim?.epoch ?? 0 };
        await Promise.race([ownership.ended, stopAsked]);
      } catch (error) {
        // Servers that do not answer are asked again, by a node that begins anew.
        const isSilence = error instanceof TakeOverFailed;
        if (!isSilence && (error instanceof Violation || BrokerError.from(error).kind === 'internal'))
          this.#suspect(error);
      }
      this.serving = undefined;
      await broker?.close().catch(() => undefined);
      await ownership.release();
      if (!this.#stopping()) await new Promise<void>((resolve) => this.clock.after(START_AGAIN_MS, resolve));
    }
    this.clock.end();
  }

  #stopping(): boolean {
    return this.#isStopping;
  }

  /** An owner must be able to open what is there; servers that do not answer are another matter. */
  #suspect(error: unknown): void {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    if (String(cause).includes('no answer') || String(cause).includes('timeout')) return;
    throw error;
  }

  #newOwnership(id: string): Ownership {
    return new Ownership({
      id,
      join: () => this.#join(id),
      standIn: () =>
        Promise.resolve({
          start: () => Promise.resolve([]),
          unbind: () => Promise.resolve(),
          stop: () => Promise.resolve(),
        }),
      minFreeBytes: 0,
      journal: { extentBytes: EXTENT_BYTES, giveUpMs: GIVE_UP_MS, freshBytesMax: 4096 },
      isPatient: true,
      clock: this.clock,
      monotonicMs: this.clock.monotonicMs,
      openJournal: openJetStreamJournal,
      log: this.#world.logOf(this.name),
    });
  }

  async #join(id: string): Promise<Cluster> {
    const coordinator = await startCoordinator(this.#bucket, {
      id,
      times: TIMES,
      clock: this.clock,
      monotonicMs: this.clock.monotonicMs,
      log: silentLog,
    });
    const { names } = this.#world.servers;
    const streams = {
      names,
      stream: withStreamBug(this.#log, this.#world.bug),
      checkpoints: this.#checkpoints,
    };
    const { clock } = this;
    // Clients of the simulation ask node after node: no connection is carried.
    const bus = new LocalBus();
    return {
      coordinator,
      connections: new ForwardedConnections({ coordinator, bus, claim: CLAIM, clock, log: silentLog }),
      openStreams: () => Promise.resolve(streams),
      close: () => coordinator.close(),
    };
  }

  async #takeOver(ownership: Ownership): Promise<OpenBroker> {
    const { bug, seed } = this.#world;
    const broker = await ownership.takeOver((journal, tenure) =>
      openBroker({
        journal: withJournalBug(journal, bug),
        clock: this.clock,
        log: this.#world.logOf(this.name),
        ids: new SeededIds(seed),
        limits: LIMITS,
        tenure: bug === 'lease-not-checked' ? UNCONTESTED : tenure,
      }),
    );
    const dedupWindowMs = bug === 'tried-again-is-new' ? 0 : DEDUP_MS;
    for (const [channel, settings] of [
      [PLAIN, { dedupWindowMs }],
      [FIFO, { dedupWindowMs, subChannelMarks: ['.g.'] }],
    ] as const)
      await broker.change([{ do: 'create-queue', channel, settings, ifMissing: true }]);
    return withBrokerBug(broker, bug);
  }

  async #answer(body: Uint8Array): Promise<Uint8Array> {
    const { serving } = this;
    if (serving === undefined) throw new BrokerError('unavailable', 'not the owner');
    const call = JSON.parse(text(body)) as Call;
    try {
      return bytes(await this.#perform(call, serving));
    } catch (error) {
      if (error instanceof Violation) this.#world.fail(error);
      throw error;
    }
  }

  #handedOut(deliveries: readonly Delivery[], epoch: number): SettleCall['tokens'] {
    const found = deliveries.map(({ channel, sequence, attempt, message }) => ({
      channel,
      sequence,
      attempt,
      id: idOf(message.body),
    }));
    this.#world.history.handedOut(
      found.map(({ id }) => id),
      epoch,
    );
    return found;
  }

  async #consume(call: ConsumeCall, { broker, epoch }: Omit<Serving, 'ownership'>): Promise<unknown> {
    const { queue, max, waitMs, leaseMs } = call;
    const found: SettleCall['tokens'][number][] = [];
    const consumer = broker.consume({
      channel: queue as ChannelName,
      credit: max,
      early: true,
      handOut: { kind: 'lease', leaseMs },
      onDeliveries: (deliveries) => {
        try {
          found.push(...this.#handedOut(deliveries, epoch));
        } catch (error) {
          this.#world.fail(error);
        }
      },
      onCancel: () => undefined,
    });
    await new Promise<void>((resolve) => void this.clock.after(waitMs, resolve));
    consumer.cancel();
    return found;
  }

  async #perform(call: Call, { broker, epoch }: Serving): Promise<unknown> {
    const { history } = this.#world;
    if (call.do === 'send') {
      const outcomes = await broker.send(
        call.messages.map(({ id, channel, size }) => ({
          channel: channel as ChannelName,
          body: Buffer.from(`${id} ${'.'.repeat(size)}`),
          ...(call.isKnown && { dedupId: id }),
        })),
        { allOrNothing: true, early: call.early },
      );
      const refused = outcomes.find((outcome) => !outcome.ok);
      if (refused?.ok === false) throw refused.error;
      history.stored(call.batch);
      return {};
    }
    if (call.do === 'consume') return this.#consume(call, { broker, epoch });
    if (call.do === 'receive') {
      const { queue, max, waitMs, leaseMs } = call;
      const deliveries = await broker.receive({
        channel: queue as ChannelName,
        max,
        waitMs,
        handOut: { kind: 'lease', leaseMs },
      });
      return this.#handedOut(deliveries, epoch);
    }
    const { tokens, durable } = call;
    const settlement =
      call.do === 'ack'
        ? ({ kind: 'ack' } as const)
        : call.do === 'nack'
          ? ({ kind: 'nack', to: 'origin' } as const)
          : ({ kind: 'extend', leaseMs: 300 } as const);
    const { refused } = await broker.settle({ tokens, settlement, durable });
    const done = tokens.filter((_, i) => !refused.includes(i)).map(({ id }) => id);
    if (call.do === 'ack') history.acked(done, durable, epoch);
    return {};
  }
}
