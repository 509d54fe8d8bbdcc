import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringField } from '../wire/field-table.js';
import { decodeProperties, encodeProperties } from '../wire/properties.js';
import type { Properties } from '../wire/properties.js';
import { withIntegerHeader } from './extra-header.js';

const SEED = 20_261_130;
const FRAME_MAX = 131_072;
const route = Buffer.from([0, 0]);

const text = fc.option(fc.string({ maxLength: 40 }), { nil: undefined });
const properties: fc.Arbitrary<Properties> = fc.record({
  contentType: text,
  contentEncoding: text,
  headers: fc.option(
    fc
      .dictionary(fc.string({ maxLength: 10 }), fc.string({ maxLength: 20 }))
      .map((values) => new Map(Object.entries(values).map(([key, value]) => [key, stringField(value)]))),
    { nil: undefined },
  ),
  deliveryMode: fc.option(fc.constantFrom(1, 2), { nil: undefined }),
  messageId: text,
});

describe('one more header', () => {
  it('is there as if it had been sent, and nothing else changes', () => {
    fc.assert(
      fc.property(properties, fc.nat(), (given, value) => {
        const bytes = encodeProperties(given);
        const before = Buffer.from(bytes);
        const out = withIntegerHeader({ route, properties: bytes }, 'x-delivery-count', value, FRAME_MAX);
        const headers = new Map(given.headers);
        headers.set('x-delivery-count', { tag: 'l', value: BigInt(value) });
        expect(decodeProperties(out.properties)).toEqual(
          decodeProperties(encodeProperties({ ...given, headers })),
        );
        // The bytes belong to the store.
        expect(bytes).toEqual(before);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  it('is left out when the content header would not fit in a frame', () => {
    const bytes = encodeProperties({ headers: new Map([['k', stringField('x'.repeat(4050))]]) });
    const parts = { route, properties: bytes };
    expect(withIntegerHeader(parts, 'x-stream-offset', 1, 4096)).toBe(parts);
    expect(withIntegerHeader(parts, 'x-stream-offset', 1, 8192)).not.toBe(parts);
  });
});
