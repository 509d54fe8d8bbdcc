import { describe, expect, it } from 'vitest';
import { Pieces } from './pieces.js';

describe('a body in pieces', () => {
  it('is written in order, at the place asked for, as long as it said', () => {
    const pieces = new Pieces();
    pieces.ascii('a');
    pieces.ascii('b');
    pieces.bytes(Buffer.from([0xff, 0x00]));
    pieces.text('c');
    pieces.text('größer 🙂');
    pieces.ascii('d');
    const wanted = Buffer.concat([Buffer.from('ab'), Buffer.from([0xff, 0x00]), Buffer.from('cgrößer 🙂d')]);
    expect(pieces.size).toBe(wanted.length);
    const target = Buffer.alloc(wanted.length + 3, 0x2e);
    pieces.writeTo(target, 2);
    expect(target.subarray(2, -1)).toEqual(wanted);
    expect([target[0], target[1], target.at(-1)]).toEqual([0x2e, 0x2e, 0x2e]);
    expect(pieces.size).toBe(wanted.length);
  });

  it('is empty without any', () => {
    const pieces = new Pieces();
    pieces.text('');
    expect(pieces.size).toBe(0);
    pieces.writeTo(Buffer.alloc(0), 0);
  });
});
