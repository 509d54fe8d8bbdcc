import { describe, expect, it } from 'vitest';
import { World, type Pulled } from '../contract/pubsub/fixture.js';
import { randomFrom, type Random } from '../support/random.js';
import { inTime, RUNS, SEED, TIME_BUDGET_MS } from './core/budget.js';

/** Each run has thousands of operations: fewer of them than of the core's own. */
const SHARE = 5;
const STEPS = 60;
const KEYS = ['a', 'b', 'c', 'd'];
const LEASE_MS = 10_000;
const EXTENSION_MS = 30_000;
/** Small, so that checkpoints and the cleaner are at work all the time. */
const LIMITS = { checkpointEveryBytes: 4096, cleanBelowShare: 0.6, cleanBytesPerRound: 8192 };

/** One message, by what its publisher was told. */
interface Fate {
  readonly key: string;
  readonly batch: number;
  confirmed: boolean;
  /** Subscriptions it came on. */
  readonly seenOn: Set<string>;
}

/** One delivery that may be acknowledged. */
interface Held extends Pulled {
  leaseEndsAt: number;
}

interface Consumer {
  readonly subscription: string;
  /** Acknowledged, and surely on disk: must never come again. */
  readonly gone: Set<number>;
  /** Acknowledged in this life: must not come again before a crash. */
  readonly acked: Set<number>;
  /** Acknowledged before a crash, or on the way to it: may come again. */
  readonly either: Set<number>;
  out: Held[];
}

/**
 * A topic with an ordered subscription, an ordered one with exactly-once delivery and a plain one, through random publishes, pulls,
 * acknowledgements, nacks, extensions, expiries, checkpoints and power cuts; and what each must hold then.
 */
class Run {
  readonly #random: Random;
  readonly #world = new World({}, LIMITS);
  readonly #fates = new Map<number, Fate>();
  readonly #consumers: readonly Consumer[] = ['ordered', 'exact', 'plain'].map((subscription) => ({
    subscription,
    gone: new Set(),
    acked: new Set(),
    either: new Set(),
    out: [],
  }));
  #next = 0;
  #batch = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  async start(): Promise<void> {
    const world = await this.#world.open();
    await world.topic('top');
    const enableMessageOrdering = true;
    await world.subscription('ordered', 'top', { enableMessageOrdering });
    await world.subscription('exact', 'top', { enableMessageOrdering, enableExactlyOnceDelivery: true });
    await world.subscription('plain', 'top');
  }

  async step(): Promise<void> {
    const dice = this.#random.below(20);
    const consumer = this.#consumers[this.#random.below(this.#consumers.length)]!;
    if (dice < 6) await this.#publish();
    else if (dice < 10) await this.#pull(consumer);
    else if (dice < 13) await this.#ack(consumer);
    else if (dice < 14) await this.#nack(consumer);
    else if (dice < 15) await this.#extend(consumer);
    else if (dice < 16) this.#world.clock.advance(this.#random.below(LEASE_MS * 2));
    else if (dice < 17) void this.#world.broker.checkpoint();
    else if (dice < 19) await this.#crash();
    else await this.drain();
  }

  /** Writes a batch of one key; resolves when that is answered. */
  async #publish(): Promise<void> {
    const orderingKey = this.#random.chance(0.2) ? '' : KEYS[this.#random.below(KEYS.length)]!;
    const batch = this.#batch++;
    const numbers = Array.from({ length: 1 + this.#random.below(4) }, () => this.#next++);
    for (const number of numbers) {
      this.#fates.set(number, { key: orderingKey, batch, confirmed: false, seenOn: new Set() });
    }
    const before = this.#consumers.map(({ acked }) => [...acked]);
    await this.#world.publishTogether(
      'top',
      numbers.map((number) => ({ data: Buffer.from(String(number)), orderingKey })),
    );
    for (const number of numbers) this.#fates.get(number)!.confirmed = true;
    // The journal is one log: what was said before is on disk with this.
    this.#consumers.forEach(({ acked, gone }, i) => {
      for (const number of before[i]!) if (acked.delete(number)) gone.add(number);
    });
  }

  async #pull(consumer: Consumer): Promise<void> {
    const pulled = await this.#take(consumer, 1 + this.#random.below(6));
    const leaseEndsAt = this.#world.clock.now() + LEASE_MS;
    consumer.out.push(...pulled.map((one) => ({ ...one, leaseEndsAt })));
  }

  async #take(consumer: Consumer, max: number): Promise<readonly Pulled[]> {
    const { subscription, gone, acked, either } = consumer;
    const pulled = await this.#world.pull(subscription, max);
    for (const { data } of pulled) {
      const number = Number(data);
      const fate = this.#fates.get(number);
      if (fate === undefined) throw new Error(`${number} came from nowhere`);
      if (gone.has(number) || acked.has(number)) throw new Error(`${number} came back on '${subscription}'`);
      either.delete(number);
      fate.seenOn.add(subscription);
    }
    const keys = pulled.map(({ key }) => key).filter((key) => key !== '');
    if (subscription !== 'plain') expect(new Set(keys).size).toBe(keys.length);
    return pulled;
  }

  /** Deliveries whose lease is surely not over. */
  #held({ out }: Consumer, max: number): Held[] {
    const now = this.#world.clock.now();
    return out.splice(0, max).filter(({ leaseEndsAt }) => leaseEndsAt > now);
  }

  async #ack(consumer: Consumer): Promise<void> {
    const { subscription, gone, acked, either } = consumer;
    const some = this.#held(consumer, 1 + this.#random.below(4));
    if (some.length === 0) return;
    const numbers = some.map(({ data }) => Number(data));
    for (const number of numbers) either.add(number);
    await this.#world.ack(subscription, ...some);
    for (const number of numbers) {
      either.delete(number);
      // With exactly-once delivery an answer says that it is on disk.
      (subscription === 'exact' ? gone : acked).add(number);
    }
  }

  async #nack(consumer: Consumer): Promise<void> {
    const some = this.#held(consumer, 1);
    if (some.length > 0) await this.#world.nack(consumer.subscription, ...some);
  }

  async #extend(consumer: Consumer): Promise<void> {
    const some = this.#held(consumer, 1);
    if (some.length === 0) return;
    await this.#world.modify(consumer.subscription, EXTENSION_MS / 1000, ...some);
    for (const one of some) one.leaseEndsAt = this.#world.clock.now() + EXTENSION_MS;
    consumer.out.push(...some);
  }

  /** A power cut, perhaps with publishes and acknowledgements on their way. */
  async #crash(): Promise<void> {
    if (this.#random.chance(0.6)) {
      this.#world.faults.holdCommits = true;
      for (let left = this.#random.below(4); left >= 0; left--) {
        void this.#publish();
        if (this.#random.chance(0.5)) void this.#ack(this.#consumers[this.#random.below(2)]!);
      }
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    }
    await this.#world.crash(this.#random.below(1000));
    for (const { out, acked, either } of this.#consumers) {
      // Whether a lease was on disk is not known.
      out.length = 0;
      for (const number of acked) either.add(number);
      acked.clear();
    }
  }

  /** Takes everything there is: all that must be there, in order, once. */
  async drain(): Promise<void> {
    const world = this.#world;
    // Leases of lives before end, too.
    world.clock.advance(EXTENSION_MS + LEASE_MS);
    for (const consumer of this.#consumers) {
      const { subscription, gone, acked, either } = consumer;
      const numbers: number[] = [];
      for (;;) {
        const pulled = await this.#take(consumer, 100);
        if (pulled.length === 0) break;
        await world.ack(subscription, ...pulled);
        const some = pulled.map(({ data }) => Number(data));
        numbers.push(...some);
        for (const number of some) acked.add(number);
      }
      for (const key of subscription === 'plain' ? [] : KEYS) {
        const own = numbers.filter((number) => this.#fates.get(number)!.key === key);
        expect(own).toEqual([...own].sort((a, b) => a - b));
      }
      for (const [number, { confirmed }] of this.#fates) {
        if (confirmed && !gone.has(number) && !acked.has(number) && !either.has(number)) {
          throw new Error(`${number} is missing on '${subscription}'`);
        }
      }
      consumer.out = [];
    }
    this.#wholeOrNotAtAll();
    await this.#publish();
  }

  /** A publish that was not answered has come on every subscription, or on none. */
  #wholeOrNotAtAll(): void {
    const batches = new Map<number, Set<number>>();
    for (const { batch, confirmed, seenOn } of this.#fates.values()) {
      if (!confirmed) batches.set(batch, (batches.get(batch) ?? new Set()).add(seenOn.size));
    }
    for (const counts of batches.values())
      expect([[0], [this.#consumers.length]]).toContainEqual([...counts]);
    for (const [number, fate] of this.#fates) {
      if (fate.confirmed) continue;
      if (fate.seenOn.size === 0) this.#fates.delete(number);
      else fate.confirmed = true;
    }
  }
}

describe(`Pub/Sub through power cuts (seed ${SEED})`, () => {
  it(
    'loses nothing, keeps each key in order, and takes no certain acknowledgement back',
    { timeout: TIME_BUDGET_MS * 2 },
    async () => {
      for (let nth = 0; nth < RUNS / SHARE; nth++) {
        const run = new Run(SEED + nth);
        const name = `run ${nth}`;
        try {
          await inTime(run.start(), name);
          for (let step = 0; step < STEPS; step++) await inTime(run.step(), `${name}, step ${step}`);
          await inTime(run.drain(), name);
        } catch (caught) {
          throw new Error(`${name}: ${String(caught)}`, { cause: caught });
        }
      }
    },
  );
});
