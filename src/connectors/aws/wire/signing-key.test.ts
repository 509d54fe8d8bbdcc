import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SigningKey } from './signing-key.js';

describe('a signing key', () => {
  it('signs as HMAC-SHA-256 does, texts of any length one after the other', () => {
    const ascii = fc.string({ maxLength: 400 }).filter((text) => /^[\x20-\x7e]*$/.test(text));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.array(ascii, { minLength: 1 }), (bytes, texts) => {
        const key = new SigningKey(bytes);
        for (const text of texts) {
          expect(key.sign(text)).toBe(createHmac('sha256', bytes).update(text).digest('hex'));
        }
      }),
    );
  });

  it('is at most one block', () => {
    expect(() => new SigningKey(new Uint8Array(65))).toThrow(RangeError);
  });
});
