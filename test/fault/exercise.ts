import type { SeededIds } from '../../src/base/ids.js';
import type { Timeline } from './timeline.js';
import { Violation } from './track.js';

/** One life of the broker, between a start and a kill. */
export interface Life {
  readonly port: (listener: string) => number;
  readonly random: SeededIds;
  readonly timeline: Timeline;
  /** Number of kills so far. */
  readonly kills: number;
}

/** A running load: it ends by itself when `stop` is called or its connections break. */
export interface RunningLoad {
  /** Rejects when something went wrong while the broker was still alive. */
  readonly done: Promise<void>;
}

/** Traffic of one kind, and what must hold after every kill. */
export interface Exercise {
  readonly name: string;
  /** Makes what it needs, once, in the first life. */
  setUp(life: Life): Promise<void>;
  /** Full speed until the broker dies; errors after `isDead()` are expected. */
  load(life: Life, isDead: () => boolean): Promise<void>;
  /** The broker was just killed. */
  killed(): void;
  /** After a restart: consumes everything and throws a `Violation` when a promise is broken. */
  verify(life: Life): Promise<void>;
  /** Figures for the summary line. */
  summary(): string;
}

/** Longest wait for a message that a lease of the life before may keep back; checks that take longer leases wait longer. */
const LEASE_WAIT_MS = 60_000;
/** More than this between two looks and the machine, or this process, stood still: nobody could have answered. */
const LOOK_MS_MAX = 1_000;

/** How long a check waits for what must come: time in which the broker could run, not the clock's. */
export class Patience {
  readonly #now: () => number;
  #left: number;
  #last: number;

  constructor(ms = LEASE_WAIT_MS, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#left = ms;
    this.#last = now();
  }

  /** Whether it is at an end. Ask often. */
  get isOver(): boolean {
    const now = this.#now();
    this.#left -= Math.min(now - this.#last, LOOK_MS_MAX);
    this.#last = now;
    return this.#left <= 0;
  }
}

/** Whether `channels` hold no message any more in whatever state, by the broker's own word. */
export async function areEmpty(life: Life, channels: readonly string[]): Promise<boolean> {
  for (const channel of channels) {
    const path = `/api/v1/queues?prefix=${encodeURIComponent(channel)}`;
    const answer = await fetch(`http://127.0.0.1:${life.port('api')}${path}`);
    const { queues } = (await answer.json()) as { queues: readonly QueueFigures[] };
    // Bytes, for they count what is on its way from the disk to a receiver, too.
    if (queues.some((queue) => queue.channel === channel && queue.bytes > 0)) return false;
  }
  return true;
}

interface QueueFigures {
  readonly channel: string;
  readonly bytes: number;
}

/** Calls `step` until nothing must come any more and `channels` are empty; throws a `Violation` when that does not happen. */
export async function drain(
  life: Life,
  queue: {
    readonly channels: readonly string[];
    readonly patience: Patience;
    readonly complete: () => boolean;
  },
  step: () => Promise<unknown>,
): Promise<void> {
  const { channels, patience, complete } = queue;
  for (;;) {
    const isComplete = complete();
    if (isComplete && (await areEmpty(life, channels))) return;
    if (patience.isOver) {
      // What is missing says more than that something is left.
      if (!isComplete) return;
      throw new Violation(`${channels.join(', ')}: does not run empty`);
    }
    await step();
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Runs `step` over and over until the broker is dead. */
export async function untilDead(isDead: () => boolean, step: () => Promise<void>): Promise<void> {
  await unlessDead(isDead, async () => {
    while (!isDead()) await step();
  });
}

/** Runs `work`; a connection that breaks because the broker was killed is its normal end, a broken promise never is. */
export async function unlessDead(isDead: () => boolean, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await sleep(20);
    if (error instanceof Violation || !isDead()) throw error;
  }
}
