import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { md5, MD5_CHARS, md5OfAll } from './md5.js';

const expected = (message: Uint8Array): string => createHash('md5').update(message).digest('hex');
const all = (messages: readonly Uint8Array[]): string[] => {
  const digests = md5OfAll(messages).toString('latin1');
  return messages.map((_, place) => digests.slice(place * MD5_CHARS, (place + 1) * MD5_CHARS));
};
const ofLength = (length: number): Buffer => Buffer.alloc(length, `${length} `);

describe('md5 of many messages', () => {
  it('gives the test suite of RFC 1321', () => {
    const texts = ['', 'a', 'abc', 'message digest', 'abcdefghijklmnopqrstuvwxyz', '1234567890'.repeat(8)];
    expect(all(texts.map((text) => Buffer.from(text)))).toEqual([
      'd41d8cd98f00b204e9800998ecf8427e',
      '0cc175b9c0f1b6a831c399e269772661',
      '900150983cd24fb0d6963f7d28e17f72',
      'f96b697d7cb7938d525a2f31aaf161d0',
      'c3fcd3d76192e4007dfb496cca67e13b',
      '57edf4a22be3c955ac49da2e2107b67a',
    ]);
  });

  it('is that of one message, for every length around its limits', () => {
    const lengths = [
      ...Array.from({ length: 200 }, (_, length) => length),
      1024,
      16_374,
      16_375,
      16_376,
      40_000,
    ];
    const messages = lengths.map(ofLength);
    expect(all(messages)).toEqual(messages.map(expected));
    expect(messages.map(md5)).toEqual(messages.map(expected));
  });

  it('does not depend on who its neighbours are', () => {
    const message = fc.uint8Array({ maxLength: 400 });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 14 }), (messages) => {
        expect(all(messages)).toEqual(messages.map(expected));
      }),
      { numRuns: 300 },
    );
  });

  it('reads views of larger buffers', () => {
    const whole = ofLength(5_000);
    const views = [0, 1, 2, 3, 700].map((start) => whole.subarray(start, start + 1_001));
    expect(all(views)).toEqual(views.map(expected));
  });
});
