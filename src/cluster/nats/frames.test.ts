import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFrame, encodeFrame, type Frame } from './frames.js';

const name = fc.string({ maxLength: 60 });
const frame = fc.record({
  kind: fc.integer({ min: 0, max: 7 }),
  last: fc.boolean(),
  call: fc.integer({ min: 0, max: 0xffff_ffff }),
  part: fc.integer({ min: 0, max: 0xffff_ffff }),
  caller: name,
  sender: name,
  service: name,
  payload: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
}) as fc.Arbitrary<Frame>;

describe('bus frames', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(frame, (one) => {
        expect(decodeFrame(encodeFrame(one))).toEqual(one);
      }),
    );
  });

  it('are refused when they are cut in their head', () => {
    const whole = encodeFrame({
      kind: 0,
      last: true,
      call: 1,
      part: 0,
      caller: 'aaa',
      sender: 'bb',
      service: 'cccc',
      payload: Buffer.alloc(0),
    });
    for (let length = 0; length < whole.length; length++)
      expect(decodeFrame(whole.subarray(0, length))).toBeUndefined();
  });

  it('are refused when their kind is unknown', () => {
    expect(decodeFrame(Buffer.alloc(20, 99))).toBeUndefined();
  });
});
