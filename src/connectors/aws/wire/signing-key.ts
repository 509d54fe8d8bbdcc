import { createHmac, hash } from 'node:crypto';

/** Bytes of one block of SHA-256. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER = 0x36;
const OUTER = 0x5c;

/**
 * A key that signs texts with HMAC-SHA-256 (RFC 2104). Both padded blocks are made once, and each hash is one call: native
 * hash objects cost more than the hashing, and burden the collector.
 */
export class SigningKey {
  /** Padded key, then room for the text. */
  #inner: Buffer;
  /** Padded key, then room for the inner digest. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, OUTER);

  /** `key`: at most one block, as all keys derived by SHA-256 are. */
  constructor(key: Uint8Array) {
    if (key.length > BLOCK_BYTES) throw new RangeError(`a key is at most ${BLOCK_BYTES} bytes`);
    this.#inner = Buffer.alloc(BLOCK_BYTES * 4, INNER);
    for (let i = 0; i < key.length; i++) {
      const byte = key[i] ?? 0;
      this.#inner[i] = byte ^ INNER;
      this.#outer[i] = byte ^ OUTER;
    }
  }

  /** Signature of a text in ASCII: 64 hexadecimal digits. */
  sign(text: string): string {
    const size = BLOCK_BYTES + text.length;
    if (size > this.#inner.length) {
      const larger = Buffer.alloc(size);
      this.#inner.copy(larger, 0, 0, BLOCK_BYTES);
      this.#inner = larger;
    }
    this.#inner.write(text, BLOCK_BYTES, 'latin1');
    this.#outer.write(hash('sha256', this.#inner.subarray(0, size), 'hex'), BLOCK_BYTES, 'hex');
    return hash('sha256', this.#outer, 'hex');
  }
}

/** A day's key for one region and service: what a secret is turned into before it signs. */
export function signingKey(
  secret: string,
  scope: { readonly date: string; readonly region: string; readonly service: string },
): SigningKey {
  let key = hmac(`AWS4${secret}`, scope.date);
  key = hmac(key, scope.region);
  key = hmac(key, scope.service);
  return new SigningKey(hmac(key, 'aws4_request'));
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}
