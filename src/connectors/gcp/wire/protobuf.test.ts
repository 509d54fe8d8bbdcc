import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { MalformedMessage, ProtobufReader, tagOf, varintLength, writeVarint } from './protobuf.js';

describe('varints', () => {
  it('are written as protobuf writes them', () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (value) => {
        const expected = new BinaryWriter().uint64(BigInt(value)).finish();
        const out = new Uint8Array(12);
        const end = writeVarint(out, 1, value);
        expect(out.subarray(1, end)).toEqual(expected);
        expect(varintLength(value)).toBe(expected.length);
        expect(new ProtobufReader(expected).int64()).toBe(value);
      }),
    );
  });

  it.each([
    0,
    127,
    128,
    2 ** 21,
    2 ** 28,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    2 ** 35 - 1,
    2 ** 35,
    2 ** 42,
    2 ** 49,
  ])('%d has its exact length', (value) => {
    const expected = new BinaryWriter().uint64(BigInt(value)).finish();
    const out = new Uint8Array(10);
    expect(writeVarint(out, 0, value)).toBe(expected.length);
    expect(varintLength(value)).toBe(expected.length);
  });

  it('are read with their sign', () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        const bytes = new BinaryWriter().int32(value).finish();
        expect(new ProtobufReader(bytes).int32()).toBe(value);
        expect(new ProtobufReader(bytes).int64()).toBe(value);
      }),
    );
    expect(new ProtobufReader(new BinaryWriter().int64(-(2n ** 53n)).finish()).int64()).toBe(-(2 ** 53));
  });

  it('of more than ten bytes or without end are refused', () => {
    expect(() => new ProtobufReader(new Uint8Array(11).fill(0xff)).int64()).toThrow(MalformedMessage);
    expect(() => new ProtobufReader(new Uint8Array(11).fill(0xff)).uint32()).toThrow(MalformedMessage);
    expect(() => new ProtobufReader(Uint8Array.of(0x80)).uint32()).toThrow(MalformedMessage);
    expect(() => new ProtobufReader(new Uint8Array(0)).int64()).toThrow(MalformedMessage);
  });
});

describe('unknown fields', () => {
  it('of every wire type are passed over', () => {
    const writer = new BinaryWriter();
    writer.tag(1, WireType.Varint).uint64(2n ** 63n);
    writer.tag(2, WireType.Bit64).fixed64(7n);
    writer.tag(3, WireType.LengthDelimited).bytes(Uint8Array.of(1, 2, 3));
    writer
      .tag(4, WireType.StartGroup)
      .tag(5, WireType.StartGroup)
      .tag(1, WireType.Varint)
      .uint32(1)
      .tag(5, WireType.EndGroup)
      .tag(4, WireType.EndGroup);
    writer.tag(6, WireType.Bit32).fixed32(9);
    const bytes = writer.finish();
    const reader = new ProtobufReader(bytes);
    const fields: number[] = [];
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
      fields.push(tag >>> 3);
      reader.skip(tag);
    }
    expect(fields).toEqual([1, 2, 3, 4, 6]);
    expect(reader.at).toBe(bytes.length);
  });

  it.each([
    ['field 0', [0x00]],
    ['a wire type that does not exist', [0x0e]],
    ['a tag of more than 32 bits', [205, 128, 128, 128, 16, 0, 0, 0, 0]],
    ['a tag of more than five bytes', [0x8d, 0x80, 0x80, 0x80, 0x80, 0x00, 0, 0, 0, 0]],
    ['an end of no group', [0x0c]],
    ['a group without end', [0x0b]],
    ['the end of another group', [0x0b, 0x14]],
    ['a length beyond the end', [0x0a, 0x02, 0x01]],
    ['a negative length', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['a cut fixed32', [0x0d, 1, 2, 3]],
    ['a cut fixed64', [0x09, 1, 2, 3]],
    ['groups without bottom', new Array<number>(200).fill(0x0b)],
  ])('%s is refused', (_, bytes) => {
    const reader = new ProtobufReader(Uint8Array.from(bytes));
    expect(() => {
      for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) reader.skip(tag);
    }).toThrow(MalformedMessage);
  });

  it('never makes the reader run past the end, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const reader = new ProtobufReader(bytes);
        try {
          for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) reader.skip(tag);
        } catch (caught) {
          expect(caught).toBeInstanceOf(MalformedMessage);
          return;
        }
        expect(reader.at).toBe(bytes.length);
        // The oracle agrees that it is a message.
        const oracle = new BinaryReader(bytes);
        while (oracle.pos < oracle.len) {
          const [field, type] = oracle.tag();
          oracle.skip(type, field);
        }
      }),
    );
  });
});

describe('text', () => {
  it('must be UTF-8', () => {
    const bytes = Buffer.concat([Uint8Array.of(2), Uint8Array.of(0xc3, 0x28)]);
    expect(() => new ProtobufReader(bytes).string()).toThrow(MalformedMessage);
    const good = Buffer.concat([Uint8Array.of(3), Buffer.from('aé')]);
    expect(new ProtobufReader(good).string()).toBe('aé');
  });
});

it('tags join field and wire type', () => {
  expect(tagOf(10, 0)).toBe(80);
});
