import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HpackDecoder } from './hpack-decoder.js';
import { encodeHeaders, integer } from './hpack-encoder.js';
import { decodeHuffman, HUFFMAN_CODES, huffmanCodeLength } from './huffman.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const decoder = (tableBytesMax = 4096, listBytesMax = 65_536): HpackDecoder =>
  new HpackDecoder({ tableBytesMax, listBytesMax });
const fieldsOf = (block: string, from = decoder()): readonly string[] => from.decode(hex(block)).fields;

function huffman(text: Buffer): Buffer {
  let bits = '';
  for (const byte of text)
    bits += (HUFFMAN_CODES[byte] ?? 0).toString(2).padStart(huffmanCodeLength(byte), '0');
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

describe('header decoding: the examples of RFC 7541, appendix C', () => {
  it('C.2: each kind of field', () => {
    expect(fieldsOf('400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572')).toEqual([
      'custom-key',
      'custom-header',
    ]);
    expect(fieldsOf('040c 2f73 616d 706c 652f 7061 7468')).toEqual([':path', '/sample/path']);
    expect(fieldsOf('1008 7061 7373 776f 7264 0673 6563 7265 74')).toEqual(['password', 'secret']);
    expect(fieldsOf('82')).toEqual([':method', 'GET']);
  });

  const REQUESTS = [
    [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'],
    [
      ':method',
      'GET',
      ':scheme',
      'http',
      ':path',
      '/',
      ':authority',
      'www.example.com',
      'cache-control',
      'no-cache',
    ],
    [
      ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
      ...['custom-key', 'custom-value'],
    ],
  ];

  it.each([
    [
      'C.3: plain',
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    ],
    [
      'C.4: Huffman',
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ],
  ])('%s requests on one connection', (_, blocks) => {
    const one = decoder();
    expect(blocks.map((block) => fieldsOf(block, one))).toEqual(REQUESTS);
  });

  it('C.6: Huffman responses with a table of 256 bytes that drops fields', () => {
    const one = decoder(256);
    const common = [
      'cache-control',
      'private',
      'date',
      'Mon, 21 Oct 2013 20:13:21 GMT',
      'location',
      'https://www.example.com',
    ];
    expect(
      fieldsOf(
        '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
        one,
      ),
    ).toEqual([':status', '302', ...common]);
    expect(fieldsOf('4883 640e ffc1 c0bf', one)).toEqual([':status', '307', ...common]);
    expect(
      fieldsOf(
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
        one,
      ),
    ).toEqual([
      ...[':status', '200', 'cache-control', 'private', 'date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
      ...['location', 'https://www.example.com', 'content-encoding', 'gzip'],
      ...['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
    ]);
  });

  it('C.1: integers', () => {
    expect(integer(10, 5, 0)).toEqual(Buffer.from([10]));
    expect(integer(1337, 5, 0)).toEqual(Buffer.from([31, 154, 10]));
    expect(integer(42, 8, 0)).toEqual(Buffer.from([42]));
  });
});

describe('header decoding', () => {
  it('reads back every byte in Huffman code, and what the encoder wrote', () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    for (const byte of all) {
      const coded = huffman(Buffer.from([byte]));
      expect(decodeHuffman(coded, 0, coded.length)).toBe(String.fromCharCode(byte));
    }
    const coded = huffman(all);
    expect(decodeHuffman(coded, 0, coded.length)).toBe(all.toString('latin1'));
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,200}$/);
    const value = fc.stringMatching(/^[ -~]{0,300}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 8 }), (fields) => {
        expect(decoder().decode(encodeHeaders(fields)).fields).toEqual(fields.flat());
      }),
    );
  });

  it('refuses Huffman strings that end in anything but fewer than eight ones', () => {
    const decodes = (text: string): boolean => decodeHuffman(hex(text), 0, text.length / 2) !== undefined;
    // '0' is 00000, 'a' is 00011.
    expect(['07', '1f'].map(decodes)).toEqual([true, true]);
    expect(['ff', '00', '06', '07ff', 'ffffffff'].map(decodes)).toEqual([false, false, false, false, false]);
  });

  it('gives the same list for the same block, as long as the table stays', () => {
    const one = decoder();
    const block = hex('8286 040c 2f73 616d 706c 652f 7061 7468');
    expect(one.decode(block)).toBe(one.decode(Buffer.from(block)));
    const adding = hex('400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572');
    expect(one.decode(adding)).not.toBe(one.decode(adding));
  });

  it.each([
    ['an index of zero', '80'],
    ['an index beyond the table', 'be'],
    ['a name beyond the table', '7f00 00'],
    ['a string that is cut off', '400a 6375'],
    ['a field that is cut off', '40'],
    ['an integer without end', 'ffff ffff ffff ffff ff'],
    ['a table above the limit', '3fe2 1f'],
    ['a table size after a field', '8220'],
  ])('fails the connection on %s', (_, block) => {
    expect(() => fieldsOf(block)).toThrow(expect.objectContaining({ code: 9 }));
  });

  it('counts the list and drops what is over the limit', () => {
    const list = decoder(4096, 200).decode(
      encodeHeaders([
        ['a', 'x'.repeat(100)],
        ['b', 'y'.repeat(100)],
      ]),
    );
    expect(list).toEqual({ fields: ['a', 'x'.repeat(100)], isTooLarge: true });
  });

  it('fails or decodes on any bytes, and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decoder().decode(bytes);
        } catch (caught) {
          expect(caught).toMatchObject({ name: 'ConnectionError', code: 9 });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
