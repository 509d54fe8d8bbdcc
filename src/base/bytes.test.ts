import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, utf8 } from './bytes.js';

const safe = fc.maxSafeNat();
const value = fc.oneof(
  fc.record({ as: fc.constant('u8' as const), value: fc.nat(0xff) }),
  fc.record({ as: fc.constant('u16' as const), value: fc.nat(0xffff) }),
  fc.record({ as: fc.constant('u32' as const), value: fc.nat({ max: 0xffffffff }) }),
  fc.record({ as: fc.constant('u64' as const), value: safe }),
  fc.record({ as: fc.constant('varint' as const), value: safe }),
  fc.record({ as: fc.constant('text' as const), value: fc.string({ unit: 'grapheme', maxLength: 100 }) }),
  fc.record({ as: fc.constant('block' as const), value: fc.uint8Array({ maxLength: 100 }) }),
);
type Value = typeof value extends fc.Arbitrary<infer T> ? T : never;

function write(values: readonly Value[], capacity = 1): Buffer {
  const w = new ByteWriter(capacity);
  for (const { as, value: it } of values) {
    if (as === 'text') w.text(it);
    else if (as === 'block') w.block(it);
    else w[as](it);
  }
  return w.buffer.subarray(0, w.length);
}

function read(bytes: Uint8Array, shape: readonly Value[]): unknown[] {
  const r = new ByteReader(bytes);
  const out = shape.map(({ as }) => (as === 'block' ? Uint8Array.from(r.block()) : r[as]()));
  expect(r.done).toBe(true);
  return out;
}

describe('bytes', () => {
  it('read back what was written, from a buffer that grows', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 30 }), (values) => {
        expect(read(write(values), values)).toEqual(values.map((v) => v.value));
      }),
    );
  });

  it('read the same from a plain array as from a Buffer', () => {
    const bytes = Uint8Array.from(write([{ as: 'text', value: 'grüße 🎈' }]));
    expect(new ByteReader(bytes).text()).toBe('grüße 🎈');
    expect(utf8(Uint8Array.from([0x2d, 0xc3, 0xa4]), 1, 3)).toBe('ä');
  });

  it('write long texts and those that are not ASCII from some place on', () => {
    for (const text of [
      '',
      'x'.repeat(47),
      'x'.repeat(48),
      'x'.repeat(46) + 'é',
      'é'.repeat(200),
      '\u0000',
    ]) {
      expect(read(write([{ as: 'text', value: text }]), [{ as: 'text', value: '' }])).toEqual([text]);
    }
  });

  it('throw at the end of what is there, wherever it was cut', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), fc.nat(), (values, cut) => {
        const bytes = write(values);
        expect(() => read(bytes.subarray(0, cut % bytes.length), values)).toThrow(RangeError);
      }),
    );
  });

  it('skip blocks, and refuse those that claim too much and numbers without an end', () => {
    const r = new ByteReader(
      write([
        { as: 'block', value: new Uint8Array(9) },
        { as: 'u8', value: 7 },
      ]),
    );
    r.skipBlock();
    expect(r.u8()).toBe(7);
    expect(() => new ByteReader(write([{ as: 'varint', value: 1000 }])).skipBlock()).toThrow(RangeError);
    expect(() => new ByteReader(new Uint8Array(12).fill(0xff)).varint()).toThrow('varint too long');
  });

  it('read within their bounds only', () => {
    const r = new ByteReader(Uint8Array.from([1, 2, 3, 4]), 1, 3);
    expect([r.u8(), r.u8(), r.done]).toEqual([2, 3, true]);
    expect(() => r.u8()).toThrow(RangeError);
  });
});
