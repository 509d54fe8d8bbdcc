import { randomUUID, randomBytes } from 'node:crypto';

/** Source of identifiers and random bytes, injected so that tests can repeat a run. */
export interface IdSource {
  /** A version 4 UUID in lower case. */
  uuid(): string;
  /** `count` unpredictable bytes. */
  bytes(count: number): Uint8Array;
}

export class SystemIds implements IdSource {
  uuid(): string {
    return randomUUID();
  }

  bytes(count: number): Uint8Array {
    return randomBytes(count);
  }
}

/** Repeatable ids: the same seed gives the same sequence. Not for secrets. */
export class SeededIds implements IdSource {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** A whole number in [0, bound). */
  below(bound: number): number {
    // xorshift32: small, repeatable, good enough to shuffle a test.
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state % bound;
  }

  bytes(count: number): Uint8Array {
    const out = new Uint8Array(count);
    for (let i = 0; i < count; i++) out[i] = this.below(256);
    return out;
  }

  uuid(): string {
    const hex = Buffer.from(this.bytes(16)).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}
