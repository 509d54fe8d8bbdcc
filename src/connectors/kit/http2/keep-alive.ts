import type { Http2Limits } from './limits.js';

/** Looks come about once a second: when they are so far apart, the process stood still. */
const STANDSTILL_MS = 5_000;

/** Whether a peer is there: it is, as long as it sends anything. Costs one assignment a read. */
export class KeepAlive {
  readonly #limits: Http2Limits;
  #heardAt: number;
  #askedAt: number | undefined;
  #isHeard = false;
  #tickedAt: number;

  constructor(limits: Http2Limits, now: number) {
    this.#limits = limits;
    this.#heardAt = now;
    this.#tickedAt = now;
  }

  heard(): void {
    this.#isHeard = true;
  }

  /** What to do now. `late`: the handshake took too long, which no byte that is sent makes better. */
  tick(now: number, isGreeted: boolean): 'nothing' | 'ask' | 'gone' | 'late' {
    const stoodStill = now - this.#tickedAt >= STANDSTILL_MS;
    this.#tickedAt = now;
    // What the peer sent meanwhile was not read yet.
    if (stoodStill) return 'nothing';
    if (!isGreeted) return now - this.#heardAt > this.#limits.handshakeMs ? 'late' : 'nothing';
    if (this.#isHeard) {
      this.#isHeard = false;
      this.#heardAt = now;
      this.#askedAt = undefined;
    }
    if (this.#askedAt !== undefined) {
      return now - this.#askedAt > this.#limits.keepaliveTimeoutMs ? 'gone' : 'nothing';
    }
    if (now - this.#heardAt < this.#limits.keepaliveMs) return 'nothing';
    this.#askedAt = now;
    return 'ask';
  }
}
