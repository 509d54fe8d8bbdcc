const FIRST_BYTES = 1024;

/**
 * Bytes that come in pieces, kept in one buffer that doubles: a peer that sends single bytes costs no more memory than
 * one that sends all at once. What was written is never moved in place, so views of it stay good.
 */
export class GrowingBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a copy of `bytes[from..to)`. */
  append(bytes: Buffer, from: number, to: number): void {
    const needed = this.#length + to - from;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length, FIRST_BYTES));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    bytes.copy(this.#bytes, this.#length, from, to);
    this.#length = needed;
  }

  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}
