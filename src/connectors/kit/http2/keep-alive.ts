import type { Http2Limits } from './limits.js';

/** Whether a peer is there: it is, as long as it sends anything. Costs one assignment a read. */
export class KeepAlive {
  readonly #limits: Http2Limits;
  #heardAt: number;
  #askedAt: number | undefined;
  #isHeard = false;

  constructor(limits: Http2Limits, now: number) {
    this.#limits = limits;
    this.#heardAt = now;
  }

  heard(): void {
    this.#isHeard = true;
  }

  /** What to do now. `late`: the handshake took too long, which no byte that is sent makes better. */
  tick(now: number, isGreeted: boolean): 'nothing' | 'ask' | 'gone' | 'late' {
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
