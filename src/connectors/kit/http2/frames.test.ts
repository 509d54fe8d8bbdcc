import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeFrame,
  encodeGoaway,
  encodePing,
  encodeRstStream,
  encodeSettings,
  encodeWindowUpdate,
  FrameParser,
  SETTINGS_ACK,
} from './frames.js';

type Found =
  | { type: 'data'; id: number; bytes: string; flow: number; end: boolean }
  | { type: number; flags: number; id: number; bytes: string };

/** What a parser finds; the pieces of one DATA frame joined. */
function parse(chunks: readonly Buffer[], frameBytesMax = 16_384): Found[] {
  const found: Found[] = [];
  const parser = new FrameParser(
    {
      data: (id, piece, flow, end) => {
        const last = found.at(-1);
        if (last?.type === 'data' && 'end' in last && last.id === id && !last.end && id % 4 === 3) {
          last.bytes += piece.toString('hex');
          last.flow += flow;
          last.end = end;
        } else found.push({ type: 'data', id, bytes: piece.toString('hex'), flow, end });
      },
      frame: (type, flags, id, payload) => found.push({ type, flags, id, bytes: payload.toString('hex') }),
    },
    frameBytesMax,
  );
  for (const chunk of chunks) parser.push(chunk);
  return found;
}

const BYTES = Buffer.concat([
  encodeSettings([[4, 1_048_576]]),
  encodeFrame({ type: 1, flags: 4, streamId: 3 }, Buffer.from('headers')),
  encodeFrame({ type: 0, flags: 1, streamId: 3 }, Buffer.from('hello world')),
  encodeFrame({ type: 0, flags: 9, streamId: 7 }, Buffer.from([2, 0x61, 0x62, 0, 0])),
  encodeFrame({ type: 0, flags: 1, streamId: 9 }, Buffer.alloc(0)),
  encodePing(Buffer.from('12345678'), false),
  encodeFrame({ type: 200, flags: 255, streamId: 0 }, Buffer.from('unknown')),
  encodeRstStream(3, 8),
]);
const FOUND: Found[] = [
  { type: 4, flags: 0, id: 0, bytes: '000400100000' },
  { type: 1, flags: 4, id: 3, bytes: Buffer.from('headers').toString('hex') },
  { type: 'data', id: 3, bytes: Buffer.from('hello world').toString('hex'), flow: 11, end: true },
  { type: 'data', id: 7, bytes: '6162', flow: 5, end: true },
  { type: 'data', id: 9, bytes: '', flow: 0, end: true },
  { type: 6, flags: 0, id: 0, bytes: Buffer.from('12345678').toString('hex') },
  { type: 200, flags: 255, id: 0, bytes: Buffer.from('unknown').toString('hex') },
  { type: 3, flags: 0, id: 3, bytes: '00000008' },
];

describe('frames', () => {
  it('are written as RFC 9113 has them', () => {
    expect(SETTINGS_ACK.toString('hex')).toBe('000000040100000000');
    expect(encodeWindowUpdate(5, 65_536).toString('hex')).toBe('00000408000000000500010000');
    expect(encodeRstStream(1, 8).toString('hex')).toBe('00000403000000000100000008');
    expect(encodePing(Buffer.from('12345678'), true).toString('hex')).toBe(
      '0000080601000000003132333435363738',
    );
    expect(encodeGoaway(7, 11, 'calm').toString('hex')).toBe('00000c070000000000000000070000000b63616c6d');
  });

  it('are found whole, one byte at a time, and cut anywhere', () => {
    expect(parse([BYTES])).toEqual(FOUND);
    expect(parse(Array.from(BYTES, (byte) => Buffer.from([byte])))).toEqual(FOUND);
    for (let cut = 0; cut <= BYTES.length; cut++) {
      expect(parse([BYTES.subarray(0, cut), BYTES.subarray(cut)])).toEqual(FOUND);
    }
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (sizes) => {
        const chunks: Buffer[] = [];
        for (let at = 0, turn = 0; at < BYTES.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          chunks.push(BYTES.subarray(at, at + size));
          at += size;
        }
        expect(parse(chunks)).toEqual(FOUND);
      }),
    );
  });

  it('above the limit and wrongly padded ones fail the connection', () => {
    const large = encodeFrame({ type: 0, flags: 0, streamId: 1 }, Buffer.alloc(16_385));
    expect(() => parse([large.subarray(0, 9)])).toThrow(expect.objectContaining({ code: 6 }));
    const padded = encodeFrame({ type: 0, flags: 8, streamId: 1 }, Buffer.from([3, 1, 2]));
    expect(() => parse([padded])).toThrow(expect.objectContaining({ code: 1 }));
    const empty = encodeFrame({ type: 0, flags: 8, streamId: 1 }, Buffer.alloc(0));
    expect(() => parse([empty])).toThrow(expect.objectContaining({ code: 6 }));
  });

  it('never fail in any other way', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
        try {
          parse(chunks.map((chunk) => Buffer.from(chunk)));
        } catch (caught) {
          expect(caught).toMatchObject({ name: 'ConnectionError' });
        }
      }),
    );
  });
});
