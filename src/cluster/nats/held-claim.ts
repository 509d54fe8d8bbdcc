import type { KV } from '@nats-io/kv';
import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { Claim } from '../contract.js';
import { isConflict } from './conflict.js';
import { decodeLease, encodeLease } from './leases.js';

/**
 * Part of a lease its holder does not use: it counts from before it asked, others from when they saw the answer, and no two
 * clocks run at quite the same speed.
 */
const SAFETY_SHARE = 0.1;

/** A wall clock that falls behind the other by more was set back. */
const JUMP_MS = 50;

/** The same moment by two clocks: an operator may move one, the other stands still while the machine sleeps. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** What claims and members need of a KV bucket. */
export type LeaseBucket = Pick<KV, 'get' | 'create' | 'update' | 'put' | 'delete' | 'watch'>;

export interface HeldClaimParts {
  readonly name: string;
  readonly owner: string;
  readonly epoch: number;
  readonly revision: number;
  /** When the claim was asked for. */
  readonly askedAt: Moment;
  readonly kv: LeaseBucket;
  readonly key: string;
  readonly times: { readonly leaseMs: number; readonly beatMs: number };
  readonly nextBeat: () => number;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly ended: () => void;
}

/** A claim of this node: renewed until it is released, taken by somebody else, or its lease runs out unanswered. */
export class HeldClaim implements Claim {
  readonly name: string;
  readonly epoch: number;
  readonly lost: Promise<string>;
  readonly #p: HeldClaimParts;
  #resolveLost: (reason: string) => void = () => undefined;
  #revision: number;
  readonly #owner: string;
  #validUntil: Moment;
  /** Wall clock ahead of the monotonic one, when last looked at. */
  #offsetMs: number;
  /** By one of the clocks it was over, or they cannot be trusted: until the next renewal it is not held, whatever they say then. */
  #isDoubted = false;
  #doubts = 0;
  #timer: Timer | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #isLost = false;
  #releasing: Promise<void> | undefined;

  constructor(parts: HeldClaimParts) {
    this.#p = parts;
    this.name = parts.name;
    this.epoch = parts.epoch;
    this.#owner = parts.owner;
    this.#revision = parts.revision;
    this.#validUntil = this.#endOf(parts.askedAt);
    this.#offsetMs = parts.askedAt.wallMs - parts.askedAt.monotonicMs;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    this.#arm();
  }

  get held(): boolean {
    if (this.#isLost) return false;
    this.#look();
    return !this.#isDoubted;
  }

  #look(): void {
    const now = this.#p.monotonicMs();
    const wallMs = this.#p.clock.now();
    const wasMs = this.#offsetMs;
    this.#offsetMs = wallMs - now;
    const isOver = now >= this.#validUntil.monotonicMs || wallMs >= this.#validUntil.wallMs;
    if (!isOver && this.#offsetMs >= wasMs - JUMP_MS) return;
    this.#isDoubted = true;
    this.#doubts += 1;
  }

  get leaseLeftMs(): number {
    const { clock, monotonicMs } = this.#p;
    const { monotonicMs: end, wallMs } = this.#validUntil;
    return this.#isLost ? 0 : Math.max(0, Math.min(end - monotonicMs(), wallMs - clock.now()));
  }

  release(): Promise<void> {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  lose(reason: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#timer?.cancel();
    this.#p.ended();
    this.#resolveLost(reason);
  }

  #endOf(askedAt: Moment): Moment {
    const usedMs = this.#p.times.leaseMs * (1 - SAFETY_SHARE);
    return { monotonicMs: askedAt.monotonicMs + usedMs, wallMs: askedAt.wallMs + usedMs };
  }

  async #release(): Promise<void> {
    this.#timer?.cancel();
    await this.#renewing;
    if (this.#isLost) return;
    try {
      const record = { epoch: this.epoch, beat: this.#p.nextBeat() };
      await this.#p.kv.update(this.#p.key, encodeLease(record), this.#revision);
    } catch (error) {
      // Nobody waits for it: the lease runs out by itself.
      this.#p.log.warn('a claim could not be given back', { claim: this.name, error: String(error) });
    }
    this.lose('released');
  }

  #arm(): void {
    const { clock, times, monotonicMs } = this.#p;
    const delayMs = Math.max(0, Math.min(times.beatMs, this.#validUntil.monotonicMs - monotonicMs()));
    this.#timer = clock.after(delayMs, () => {
      if (monotonicMs() >= this.#validUntil.monotonicMs) {
        this.lose('the lease ran out: NATS did not answer in time');
        return;
      }
      this.#renewing = this.#renew().finally(() => {
        if (!this.#isLost && this.#releasing === undefined) this.#arm();
      });
    });
  }

  async #renew(): Promise<void> {
    const { kv, key, nextBeat, monotonicMs, clock } = this.#p;
    this.#look();
    const doubts = this.#doubts;
    const askedAt = { monotonicMs: monotonicMs(), wallMs: clock.now() };
    const value = encodeLease({ owner: this.#owner, epoch: this.epoch, beat: nextBeat() });
    const timeoutMs = Math.max(
      1,
      Math.min(this.#p.times.beatMs * 2, this.#validUntil.monotonicMs - askedAt.monotonicMs),
    );
    try {
      this.#revision = await kv.update(key, value, this.#revision, Math.ceil(timeoutMs));
      // Nobody else had it until then: whatever was in doubt before is settled, but nothing since.
      this.#validUntil = this.#endOf(askedAt);
      if (this.#doubts === doubts) this.#isDoubted = false;
      this.#look();
    } catch (error) {
      // Without an answer it is tried again at the next beat, as long as the lease lasts.
      if (isConflict(error)) await this.#findOut();
    }
  }

  /** The revision is another one: somebody took the claim, or an earlier renewal arrived whose answer did not. */
  async #findOut(): Promise<void> {
    const { kv, key } = this.#p;
    try {
      const entry = await kv.get(key);
      const found = entry?.operation === 'PUT' ? decodeLease(entry.string()) : undefined;
      if (entry !== null && found?.owner === this.#owner && found.epoch === this.epoch) {
        // Renewed again before its end is moved: when that write was made is not known.
        this.#revision = entry.revision;
        return;
      }
      const holder = found?.owner === undefined ? 'nobody' : `member ${found.owner}`;
      this.lose(`the claim belongs to ${holder}`);
    } catch {
      // Asked again with the next renewal.
    }
  }
}
