import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { KvEntry, KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import type { LeaseBucket } from '../../src/cluster/nats/held-claim.js';
import type { Random } from './random.js';
import type { ProcessClock, SimulatedTime } from './simulated-time.js';

interface Kept {
  readonly key: string;
  readonly revision: number;
  /** Undefined: deleted. */
  readonly value: string | undefined;
}

const TRIP_MS_MAX = 5;
const TIMEOUT_MS = 200;

/** A KV bucket as its servers hold it. */
export class SimulatedBucket {
  readonly kept = new Map<string, Kept>();
  readonly watchers = new Set<(kept: Kept) => void>();
  #revision = 0;

  /** Throws what JetStream answers when `expected` is not the revision; 0 = there is none. */
  write(key: string, value: string | undefined, expected?: number): number {
    const known = this.kept.get(key);
    const revision = known?.value === undefined ? 0 : known.revision;
    if (expected !== undefined && expected !== revision && expected !== known?.revision)
      throw wrongRevision();
    const kept = { key, value, revision: ++this.#revision };
    this.kept.set(key, kept);
    for (const watcher of [...this.watchers]) watcher(kept);
    return kept.revision;
  }
}

function wrongRevision(): JetStreamApiError {
  return new JetStreamApiError({
    code: 400,
    err_code: JetStreamApiCodes.StreamWrongLastSequence,
    description: 'wrong last sequence',
  });
}

/** One process's connection to a bucket. What it asks takes time, and may get no answer: before or after it had its effect. */
export class SimulatedBucketClient implements LeaseBucket {
  /** How often a question, or its answer, is lost. */
  lost = 0;
  /** Nothing comes through, in either direction. */
  isSevered = false;
  readonly #bucket: SimulatedBucket;
  readonly #time: SimulatedTime;
  readonly #own: ProcessClock;
  readonly #random: Random;

  constructor(bucket: SimulatedBucket, parts: { time: SimulatedTime; own: ProcessClock; random: Random }) {
    this.#bucket = bucket;
    this.#time = parts.time;
    this.#own = parts.own;
    this.#random = parts.random;
  }

  get(key: string): Promise<KvEntry | null> {
    return this.#ask(() => {
      const kept = this.#bucket.kept.get(key);
      return kept === undefined ? null : entryOf(kept);
    });
  }

  create(key: string, value: string): Promise<number> {
    return this.#ask(() => this.#bucket.write(key, value, 0));
  }

  update(key: string, value: string, revision: number, timeoutMs = TIMEOUT_MS): Promise<number> {
    return this.#ask(() => this.#bucket.write(key, value, revision), timeoutMs);
  }

  put(key: string, value: string): Promise<number> {
    return this.#ask(() => this.#bucket.write(key, value));
  }

  async delete(key: string): Promise<void> {
    await this.#ask(() => this.#bucket.write(key, undefined));
  }

  async watch(): Promise<QueuedIterator<KvWatchEntry>> {
    const found = await this.#ask(() => [...this.#bucket.kept.values()]);
    const waiting = found.map(entryOf);
    let wake = (): void => undefined;
    let isStopped = false;
    const hear = (kept: Kept): void => {
      // Nobody is there any more to say that it watches no longer.
      if (this.#own.ended) this.#bucket.watchers.delete(hear);
      if (this.#own.ended || this.isSevered) return;
      this.#trip(() => {
        waiting.push(entryOf(kept));
        wake();
      });
    };
    this.#bucket.watchers.add(hear);
    const { watchers } = this.#bucket;
    const iterate = async function* (): AsyncGenerator<KvWatchEntry> {
      while (!isStopped) {
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    };
    const stop = (): void => {
      isStopped = true;
      watchers.delete(hear);
      wake();
    };
    return { [Symbol.asyncIterator]: iterate, stop } as unknown as QueuedIterator<KvWatchEntry>;
  }

  #ask<T>(act: () => T, timeoutMs = TIMEOUT_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.#own.after(timeoutMs, () => reject(new Error('timeout')));
      if (this.isSevered || this.#random.chance(this.lost)) return;
      this.#time.after(this.#random.below(TRIP_MS_MAX), () => {
        let answer: () => void;
        try {
          const done = act();
          answer = () => resolve(done);
        } catch (error) {
          answer = () => reject(error instanceof Error ? error : new Error(String(error)));
        }
        if (this.#random.chance(this.lost)) return;
        this.#trip(() => {
          timer.cancel();
          answer();
        });
      });
    });
  }

  #trip(act: () => void): void {
    this.#time.after(this.#random.below(TRIP_MS_MAX), () => {
      if (!this.isSevered) this.#own.input(act);
    });
  }
}

function entryOf({ key, revision, value }: Kept): KvWatchEntry {
  const operation = value === undefined ? 'DEL' : 'PUT';
  const entry: Partial<KvWatchEntry> = { key, revision, operation, string: () => value ?? '' };
  return entry as KvWatchEntry;
}
