import { SNS_FAULTS } from '../errors.js';
import type { AwsServices } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { isUnderWay } from './replay-policy.js';
import { ReplayRun } from './replay-run.js';
import type { SubscriptionRecord } from './subscription.js';
import { SUBSCRIPTION_KIND, TOPIC_KIND } from './topic-registry.js';

/** Replays under way at once. */
const REPLAYS_MAX = 100;

export type ReplayServices = Omit<AwsServices, 'webhooks' | 'replays'>;

/** Lets publishers of an archived topic in, and keeps them out while a replay hands over to them. */
interface Gate {
  inside: number;
  /** Resolves when it opens again. */
  closed: Promise<void> | undefined;
  /** Called when the last one inside leaves. */
  empty: (() => void) | undefined;
}

/** Replays of archived messages into subscriptions: kept in the registry, so that a restart goes on with them. */
export class Replays {
  readonly #services: ReplayServices;
  /** By subscription. */
  readonly #runs = new Map<string, ReplayRun>();
  readonly #gates = new Map<string, Gate>();
  #unwatch: (() => void) | undefined;
  #stopped = true;

  constructor(services: ReplayServices) {
    this.#services = services;
  }

  /** Goes on with what a stop or a crash interrupted, and follows the subscriptions. */
  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    const { registry } = this.#services.broker;
    const unwatch = [
      registry.watch(SUBSCRIPTION_KIND, (key, entry) =>
        this.#seen(key, entry?.value as SubscriptionRecord | undefined),
      ),
      // Its archive may have gone.
      registry.watch(TOPIC_KIND, (topic) => this.#wake(topic)),
    ];
    this.#unwatch = () => unwatch.forEach((stop) => stop());
    for (const { key, value } of registry.list<SubscriptionRecord>(SUBSCRIPTION_KIND)) this.#seen(key, value);
  }

  /** Interrupts all after the step they are at. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unwatch?.();
    this.#unwatch = undefined;
    await Promise.all([...this.#runs.values()].map((run) => run.interrupt()));
  }

  /** Throws ReplayLimitExceeded when no more may begin. */
  checkRoom(): void {
    if (this.#runs.size < REPLAYS_MAX) return;
    throw new AwsFault(
      SNS_FAULTS.replayLimitExceeded,
      `At most ${REPLAYS_MAX} replays are under way at once.`,
    );
  }

  /** Before deciding about messages of an archived topic; `leave` when they are stored, or are not. */
  async enter(topic: string): Promise<void> {
    const gate = this.#gateOf(topic);
    while (gate.closed !== undefined) await gate.closed;
    gate.inside++;
  }

  leave(topic: string): void {
    const gate = this.#gateOf(topic);
    gate.inside--;
    if (gate.inside > 0) return;
    gate.empty?.();
    if (gate.closed === undefined) this.#gates.delete(topic);
    this.#wake(topic);
  }

  #wake(topic: string): void {
    for (const run of this.#runs.values()) if (run.topic === topic) run.wake();
  }

  /** Does `work` while nothing is published to the topic. */
  async #alone<T>(topic: string, work: () => Promise<T>): Promise<T> {
    const gate = this.#gateOf(topic);
    while (gate.closed !== undefined) await gate.closed;
    let open = (): void => undefined;
    gate.closed = new Promise((resolve) => (open = resolve));
    try {
      if (gate.inside > 0) await new Promise<void>((resolve) => (gate.empty = resolve));
      return await work();
    } finally {
      gate.closed = undefined;
      gate.empty = undefined;
      open();
    }
  }

  #gateOf(topic: string): Gate {
    let gate = this.#gates.get(topic);
    if (gate === undefined) {
      gate = { inside: 0, closed: undefined, empty: undefined };
      this.#gates.set(topic, gate);
    }
    return gate;
  }

  #seen(key: string, record: SubscriptionRecord | undefined): void {
    const running = this.#runs.get(key);
    const replay = isUnderWay(record?.replay) ? record?.replay : undefined;
    if (this.#stopped || (running !== undefined && running.id === replay?.id)) return;
    void running?.interrupt();
    if (replay === undefined || record === undefined) return;
    const run = new ReplayRun(this.#services, {
      key,
      topic: record.topic,
      id: replay.id,
      // One after the other: each leaves its mark behind.
      after: running?.finished,
      alone: (work) => this.#alone(record.topic, work),
    });
    this.#runs.set(key, run);
    void run.finished.then(() => {
      if (this.#runs.get(key) === run) this.#runs.delete(key);
    });
  }
}
