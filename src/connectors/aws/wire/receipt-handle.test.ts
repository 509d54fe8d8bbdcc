import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeReceiptHandle, encodeReceiptHandle } from './receipt-handle.js';

describe('receipt handles', () => {
  it('read back what they were made of', () => {
    const handle = fc.record({
      channel: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
      sequence: fc.nat(Number.MAX_SAFE_INTEGER),
      attempt: fc.nat(0xffff_ffff),
      leaseEndsAt: fc.nat(Number.MAX_SAFE_INTEGER),
      leaseSeconds: fc.nat(0xffff),
    });
    fc.assert(
      fc.property(handle, (value) => {
        expect(decodeReceiptHandle(encodeReceiptHandle(value))).toEqual(value);
      }),
    );
  });

  it('changed by one character are none', () => {
    const text = encodeReceiptHandle({
      channel: 'sqs.orders',
      sequence: 7,
      attempt: 2,
      leaseEndsAt: 1_764_478_000_000,
      leaseSeconds: 30,
    });
    for (let i = 0; i < text.length; i++) {
      const other = text[i] === 'A' ? 'B' : 'A';
      expect(decodeReceiptHandle(text.slice(0, i) + other + text.slice(i + 1)), String(i)).toBeUndefined();
    }
    for (const garbage of ['', 'garbage', `${text}=`, ` ${text}`, text.slice(1), 'A'.repeat(10_000)]) {
      expect(decodeReceiptHandle(garbage)).toBeUndefined();
    }
  });
});
