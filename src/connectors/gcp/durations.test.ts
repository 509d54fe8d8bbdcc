import { create } from '@bufbuild/protobuf';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { checkDuration, durationMs } from './durations.js';

const rule = { name: 'ttl', minSeconds: 600, maxSeconds: 1000 };
const duration = (seconds: number, nanos = 0) => create(DurationSchema, { seconds: BigInt(seconds), nanos });

describe('durations', () => {
  it('may be absent, and lie within their bounds', () => {
    expect(() => {
      checkDuration(undefined, rule);
      checkDuration(duration(600), rule);
      checkDuration(duration(1000), rule);
    }).not.toThrow();
  });

  it.each([duration(599, 999_999_999), duration(1000, 1_000_000), duration(-1), duration(0)])(
    'outside of them are refused by name',
    (bad) => {
      expect(() => checkDuration(bad, rule)).toThrow(/Invalid ttl given .*between 600 and 1000 seconds/);
    },
  );

  it('are milliseconds inside', () => {
    expect(durationMs(duration(2, 500_000_000))).toBe(2500);
  });
});
