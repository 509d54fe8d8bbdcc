import { randomBytes, randomFillSync } from 'node:crypto';

/** Source of identifiers and random bytes, injected so that tests can repeat a run. */
export interface IdSource {
  /** A version 4 UUID in lower case. */
  uuid(): string;
  /** `count` unpredictable bytes. */
  bytes(count: number): Uint8Array;
}

const UUID_BYTES = 16;
/** UUIDs whose random bytes are drawn at once. */
const UUIDS_DRAWN = 256;
const HEX_DIGITS = Buffer.from('0123456789abcdef', 'latin1');

export class SystemIds implements IdSource {
  readonly #drawn = Buffer.alloc(UUIDS_DRAWN * UUID_BYTES);
  #at = this.#drawn.length;
  readonly #text = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1');

  /** Half the cost of node:crypto's, and in one piece: that one is a chain of twenty strings, which whoever writes it joins. */
  uuid(): string {
    const drawn = this.#drawn;
    if (this.#at === drawn.length) {
      randomFillSync(drawn);
      this.#at = 0;
    }
    const text = this.#text;
    for (let i = 0, to = 0; i < UUID_BYTES; i++) {
      let byte = drawn[this.#at++] as number;
      if (i === 6) byte = (byte & 0x0f) | 0x40;
      else if (i === 8) byte = (byte & 0x3f) | 0x80;
      if (i === 4 || i === 6 || i === 8 || i === 10) to++;
      text[to++] = HEX_DIGITS[byte >> 4] as number;
      text[to++] = HEX_DIGITS[byte & 0x0f] as number;
    }
    return text.toString('latin1');
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
