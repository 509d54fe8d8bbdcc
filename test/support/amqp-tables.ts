import fc from 'fast-check';
import type { FieldTable, FieldValue } from '../../src/connectors/amqp/wire/field-table.js';

/** Arbitrary field tables for property tests: every type, nested up to three deep. */
export function anyTable(): fc.Arbitrary<FieldTable> {
  return entries(anyValue(2));
}

function anyValue(depth: number): fc.Arbitrary<FieldValue> {
  const int = (tag: 'b' | 'B' | 's' | 'u' | 'I' | 'i', min: number, max: number): fc.Arbitrary<FieldValue> =>
    fc.integer({ min, max }).map((value) => ({ tag, value }));
  const bytes = fc.uint8Array({ maxLength: 40 }).map((value) => Buffer.from(value));
  const flat: fc.Arbitrary<FieldValue>[] = [
    fc.boolean().map((value) => ({ tag: 't', value })),
    int('b', -128, 127),
    int('B', 0, 255),
    int('s', -32768, 32767),
    int('u', 0, 65535),
    int('I', -0x8000_0000, 0x7fff_ffff),
    int('i', 0, 0xffff_ffff),
    fc.float({ noNaN: true }).map((value) => ({ tag: 'f', value })),
    fc.double({ noNaN: true }).map((value) => ({ tag: 'd', value })),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ({ tag: 'l', value })),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => ({ tag: 'T', value })),
    fc
      .record({ scale: fc.integer({ min: 0, max: 255 }), unscaled: fc.integer() })
      .map((value) => ({ tag: 'D', value })),
    bytes.map((value) => ({ tag: 'S', value })),
    bytes.map((value) => ({ tag: 'x', value })),
    fc.constant<FieldValue>({ tag: 'V', value: null }),
  ];
  if (depth === 0) return fc.oneof(...flat);
  const inner = anyValue(depth - 1);
  return fc.oneof(
    ...flat,
    entries(inner).map((value): FieldValue => ({ tag: 'F', value })),
    fc.array(inner, { maxLength: 4 }).map((value): FieldValue => ({ tag: 'A', value })),
  );
}

function entries(value: fc.Arbitrary<FieldValue>): fc.Arbitrary<FieldTable> {
  const key = fc.string({ minLength: 1, maxLength: 20 });
  return fc.array(fc.tuple(key, value), { maxLength: 5 }).map((pairs) => new Map(pairs));
}
