import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WireReader } from './bytes.js';
import {
  decodeTable,
  encodeTable,
  readEntries,
  skipValue,
  stringField,
  TABLE_DEPTH_MAX,
} from './field-table.js';
import type { FieldTable } from './field-table.js';
import { ReplyError } from './reply.js';
import { anyTable } from '../../../../test/support/amqp-tables.js';

describe('field table codec', () => {
  it('writes golden bytes, one of every type', () => {
    const table: FieldTable = new Map([
      ['t', { tag: 't', value: true }],
      ['b', { tag: 'b', value: -1 }],
      ['B', { tag: 'B', value: 255 }],
      ['s', { tag: 's', value: -2 }],
      ['u', { tag: 'u', value: 65534 }],
      ['I', { tag: 'I', value: -3 }],
      ['i', { tag: 'i', value: 4294967293 }],
      ['l', { tag: 'l', value: -4n }],
      ['f', { tag: 'f', value: 0.5 }],
      ['d', { tag: 'd', value: 1 }],
      ['D', { tag: 'D', value: { scale: 2, unscaled: 314 } }],
      ['S', stringField('é')],
      ['x', { tag: 'x', value: Buffer.from([0, 255]) }],
      ['T', { tag: 'T', value: 1_700_000_000n }],
      ['F', { tag: 'F', value: new Map() }],
      ['A', { tag: 'A', value: [{ tag: 'V', value: null }] }],
      ['V', { tag: 'V', value: null }],
    ]);
    const hex =
      '00000094' +
      '017474' +
      '01' +
      '016262' +
      'ff' +
      '014242' +
      'ff' +
      '017373' +
      'fffe' +
      '017575' +
      'fffe' +
      '014949' +
      'fffffffd' +
      '016969' +
      'fffffffd' +
      '016c6c' +
      'fffffffffffffffc' +
      '016666' +
      '3f000000' +
      '016464' +
      '3ff0000000000000' +
      '014444' +
      '020000013a' +
      '015353' +
      '00000002c3a9' +
      '017878' +
      '0000000200ff' +
      '015454' +
      '000000006553f100' +
      '014646' +
      '00000000' +
      '014141' +
      '0000000156' +
      '015656';
    const bytes = encodeTable(table);
    expect(bytes.subarray(4).toString('hex')).toBe(hex.slice(8));
    expect(decodeTable(bytes)).toEqual(table);
  });

  it('gives back every table with its type tags', () => {
    fc.assert(
      fc.property(anyTable(), (table) => {
        expect(decodeTable(encodeTable(table))).toEqual(table);
      }),
    );
  });

  it('passes over values without decoding them', () => {
    fc.assert(
      fc.property(anyTable(), (table) => {
        const bytes = encodeTable(table);
        const reader = new WireReader(bytes, 4);
        const keys: string[] = [];
        while (reader.left > 0) {
          keys.push(reader.shortString());
          skipValue(reader);
        }
        expect(keys).toEqual([...table.keys()]);
      }),
    );
  });

  it('refuses every truncation and any garbage with a ReplyError', () => {
    fc.assert(
      fc.property(anyTable(), fc.nat(), (table, cut) => {
        const bytes = encodeTable(table);
        const part = bytes.subarray(0, cut % bytes.length);
        expect(() => decodeTable(part)).toThrow(ReplyError);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (garbage) => {
        try {
          readEntries(new WireReader(Buffer.from(garbage)));
        } catch (caught) {
          expect(caught).toBeInstanceOf(ReplyError);
        }
      }),
    );
  });

  it('refuses tables nested too deeply', () => {
    let table: FieldTable = new Map();
    for (let i = 0; i <= TABLE_DEPTH_MAX; i++) table = new Map([['n', { tag: 'F', value: table }]]);
    expect(() => decodeTable(encodeTable(table))).toThrow('nested too deeply');
  });
});
