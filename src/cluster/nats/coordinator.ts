import { jetstream } from '@nats-io/jetstream';
import { Bucket, Kvm, type KvWatchEntry } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Claim, Coordinator, Member, MemberAbout } from '../contract.js';
import { isConflict } from './conflict.js';
import { HeldClaim, type HeldClaimParts, type LeaseBucket } from './held-claim.js';
import { decodeLease, encodeLease, LeaseWatch } from './leases.js';

export interface CoordinatorTimes {
  /** A claim that was not renewed for that long belongs to nobody. */
  readonly leaseMs: number;
  /** Time between renewals, and between signs of life of a member. */
  readonly beatMs: number;
}

export const DEFAULT_COORDINATOR_TIMES: CoordinatorTimes = { leaseMs: 2_000, beatMs: 400 };

/** A member whose signs of life were missing for so many beats is gone; and who sees no signs at all is blind. */
const BEATS_MISSED_MAX = 4;
const FORGET_AFTER_MS = 60_000;
const REQUEST_TIMEOUT_MS = 1_000;

export interface CoordinatorOptions {
  /** Unique in the cluster; letters, digits, `-` and `_`. */
  readonly id: string;
  readonly times?: CoordinatorTimes;
  /** Goes along with every sign of life. */
  readonly about?: () => MemberAbout;
  readonly clock: Clock;
  /** A clock that no operator and no time server moves, in ms. */
  readonly monotonicMs: () => number;
  readonly log: Log;
}

export interface NatsCoordinatorOptions extends CoordinatorOptions {
  readonly nc: NatsConnection;
  /** Name of the KV bucket, one a cluster. */
  readonly bucket: string;
  readonly replicas: number;
}

/**
 * Members and claims in a JetStream KV bucket: `members.{id}` and `claims.{name}`. Every write of a claim is a compare-and-set on
 * the revision, so of two that want it one wins; ends of leases are judged by {@link LeaseWatch}.
 */
export async function openNatsCoordinator(options: NatsCoordinatorOptions): Promise<Coordinator> {
  const js = jetstream(options.nc, { timeout: REQUEST_TIMEOUT_MS });
  const kv = await new Kvm(js).create(options.bucket, {
    replicas: options.replicas,
    history: 1,
    // Reads ask the leader: a replica may lag behind a claim that was just made.
    allow_direct: false,
  });
  // What members left behind that are long gone. Nobody waits for it: it may take as long as it likes.
  if (kv instanceof Bucket) kv.purgeDeletes(FORGET_AFTER_MS).catch(() => undefined);
  return startCoordinator(kv, options);
}

/** Joins the cluster of a bucket. */
export async function startCoordinator(kv: LeaseBucket, options: CoordinatorOptions): Promise<Coordinator> {
  const coordinator = new NatsCoordinator(options, kv);
  await coordinator.start();
  return coordinator;
}

class NatsCoordinator implements Coordinator {
  readonly self: Member;
  readonly #o: CoordinatorOptions;
  readonly #times: CoordinatorTimes;
  readonly #kv: LeaseBucket;
  readonly #watch: LeaseWatch;
  readonly #membersSeen = new Map<string, number>();
  readonly #abouts = new Map<string, MemberAbout>();
  readonly #watchers = new Set<(members: readonly Member[]) => void>();
  readonly #claimWatchers = new Set<() => void>();
  readonly #held = new Map<string, HeldClaim>();
  #members: readonly Member[];
  #beat = 0;
  #timer: Timer | undefined;
  #beating: Promise<void> = Promise.resolve();
  #newsAt: number;
  #news: { stop(): void } | undefined;
  #watching: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: CoordinatorOptions, kv: LeaseBucket) {
    this.#o = options;
    this.#kv = kv;
    this.#times = options.times ?? DEFAULT_COORDINATOR_TIMES;
    this.self = { id: options.id };
    this.#members = [this.self];
    this.#watch = new LeaseWatch(this.#times.leaseMs, this.#blindAfterMs);
    this.#newsAt = options.monotonicMs();
  }

  get #blindAfterMs(): number {
    return this.#times.beatMs * BEATS_MISSED_MAX;
  }

  async start(): Promise<void> {
    await this.#sayAlive();
    this.#watching = this.#followNews();
    this.#arm();
  }

  members(): readonly Member[] {
    return this.#members.map(({ id }) => {
      const about = id === this.self.id ? this.#o.about?.() : this.#abouts.get(id);
      return about === undefined ? { id } : { id, about };
    });
  }

  watchMembers(seen: (members: readonly Member[]) => void): () => void {
    this.#watchers.add(seen);
    return () => void this.#watchers.delete(seen);
  }

  watchClaims(seen: () => void): () => void {
    this.#claimWatchers.add(seen);
    return () => void this.#claimWatchers.delete(seen);
  }

  async claim(name: string): Promise<Claim | undefined> {
    if (this.#closing !== undefined) throw new BrokerError('draining', 'the coordinator is closed');
    if (this.#held.has(name)) return undefined;
    const key = claimKey(name);
    try {
      const entry = await this.#kv.get(key);
      const now = this.#o.monotonicMs();
      // Whoever gets answers sees; should they be old, the write below fails.
      this.#watch.sight(now);
      const askedAt = { monotonicMs: now, wallMs: this.#o.clock.now() };
      const before = entry?.operation === 'PUT' ? decodeLease(entry.string()) : undefined;
      if (entry !== null && before?.owner !== undefined && before.owner !== this.self.id) {
        this.#watch.see(name, entry.revision, now);
        if (!this.#watch.ended(name, entry.revision, now)) return undefined;
      }
      const epoch = (before?.epoch ?? 0) + 1;
      const value = encodeLease({ owner: this.self.id, epoch, beat: this.#nextBeat() });
      const revision =
        entry === null
          ? await this.#kv.create(key, value)
          : await this.#kv.update(key, value, entry.revision);
      return this.#hold({ name, epoch, revision, askedAt });
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw unavailable(error);
    }
  }

  async owner(name: string): Promise<Member | undefined> {
    try {
      const entry = await this.#kv.get(claimKey(name));
      const owner = entry?.operation === 'PUT' ? decodeLease(entry.string())?.owner : undefined;
      if (entry === null || owner === undefined) return undefined;
      const gone = owner !== this.self.id && this.#watch.ended(name, entry.revision, this.#o.monotonicMs());
      return gone ? undefined : { id: owner };
    } catch (error) {
      throw unavailable(error);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#timer?.cancel();
    await this.#beating;
    for (const claim of [...this.#held.values()]) await claim.release();
    // Others learn at once; a server that does not answer would tell them by silence.
    await this.#kv.delete(memberKey(this.self.id)).catch(() => undefined);
    this.#news?.stop();
    await this.#watching;
    this.#watchers.clear();
    this.#claimWatchers.clear();
  }

  #hold(made: Pick<HeldClaimParts, 'name' | 'epoch' | 'revision' | 'askedAt'>): Claim {
    const { clock, monotonicMs, log } = this.#o;
    const { name } = made;
    const claim = new HeldClaim({
      ...made,
      owner: this.self.id,
      kv: this.#kv,
      key: claimKey(name),
      times: this.#times,
      nextBeat: () => this.#nextBeat(),
      clock,
      monotonicMs,
      log,
      ended: () => {
        if (this.#held.get(name) === claim) this.#held.delete(name);
      },
    });
    this.#held.set(name, claim);
    return claim;
  }

  #nextBeat(): number {
    this.#beat += 1;
    return this.#beat;
  }

  #arm(): void {
    this.#timer = this.#o.clock.after(this.#times.beatMs, () => {
      this.#beating = this.#tick().finally(() => {
        if (this.#closing === undefined) this.#arm();
      });
    });
  }

  async #tick(): Promise<void> {
    await this.#sayAlive().catch(() => undefined);
    const now = this.#o.monotonicMs();
    // Nothing came for long, not even this node's own signs: the subscription is of no use any more.
    if (now - this.#newsAt > this.#blindAfterMs) {
      this.#newsAt = now;
      this.#news?.stop();
    } else {
      for (const [id, seenAt] of this.#membersSeen)
        if (now - seenAt > this.#times.leaseMs && id !== this.self.id) await this.#bury(id);
      this.#tellMembers();
    }
  }

  /** A member that ended without a word; should it live after all, its next sign brings it back. */
  async #bury(id: string): Promise<void> {
    this.#membersSeen.delete(id);
    this.#abouts.delete(id);
    await this.#kv.delete(memberKey(id)).catch(() => undefined);
  }

  async #sayAlive(): Promise<void> {
    const sign = { beat: this.#nextBeat(), about: this.#o.about?.() };
    await this.#kv.put(memberKey(this.self.id), JSON.stringify(sign));
  }

  /** Follows the bucket for as long as this coordinator lives. */
  async #followNews(): Promise<void> {
    while (this.#closing === undefined) {
      try {
        const news = await this.#kv.watch();
        this.#news = news;
        if (this.#stopping()) return;
        for await (const entry of news) this.#hear(entry);
      } catch (error) {
        this.#o.log.debug('the members cannot be watched, trying again', { error: String(error) });
      }
      if (this.#stopping()) return;
      await new Promise<void>((resolve) => this.#o.clock.after(this.#times.beatMs, resolve));
    }
  }

  /** Asked anew after every wait. */
  #stopping(): boolean {
    return this.#closing !== undefined;
  }

  #hear(entry: KvWatchEntry): void {
    const now = this.#o.monotonicMs();
    this.#newsAt = now;
    this.#watch.sight(now);
    const dot = entry.key.indexOf('.');
    const name = entry.key.slice(dot + 1);
    if (entry.key.startsWith('members.')) {
      if (entry.operation === 'PUT') {
        this.#membersSeen.set(name, now);
        const about = aboutOf(entry.string());
        if (about !== undefined) this.#abouts.set(name, about);
      } else {
        this.#membersSeen.delete(name);
        this.#abouts.delete(name);
      }
      this.#tellMembers();
    } else if (entry.key.startsWith('claims.')) {
      this.#watch.see(nameOf(name), entry.revision, now);
      const isFree = entry.operation !== 'PUT' || decodeLease(entry.string())?.owner === undefined;
      if (isFree) for (const seen of [...this.#claimWatchers]) seen();
    }
  }

  #tellMembers(): void {
    const ids = new Set([...this.#membersSeen.keys(), this.self.id]);
    if (ids.size === this.#members.length && this.#members.every(({ id }) => ids.has(id))) return;
    this.#members = [...ids].sort().map((id) => ({ id }));
    for (const seen of [...this.#watchers]) seen(this.#members);
  }
}

function memberKey(id: string): string {
  return `members.${id}`;
}

function aboutOf(sign: string): MemberAbout | undefined {
  try {
    return (JSON.parse(sign) as { about?: MemberAbout }).about;
  } catch {
    return undefined;
  }
}

/** Names may hold anything, keys of a bucket may not. */
function claimKey(name: string): string {
  return `claims.${Buffer.from(name).toString('base64url')}`;
}

function nameOf(key: string): string {
  return Buffer.from(key, 'base64url').toString();
}

function unavailable(error: unknown): BrokerError {
  if (error instanceof BrokerError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new BrokerError('unavailable', `NATS does not answer: ${why}`, { cause: error });
}
