import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attributesMd5, decodeAttributes, encodeAttributes } from './message-attributes.js';
import type { MessageAttribute } from './message-attributes.js';

const text = (name: string, value: string, dataType = 'String'): MessageAttribute => ({
  name,
  dataType,
  value,
});

describe('MD5 of message attributes', () => {
  // Published vectors; those of AWS's own recordings come first.
  it.each<[string, readonly MessageAttribute[], string]>([
    ['one string', [text('Foo', 'Bar')], 'ae7155c6026991b6d54b11589678bf9c'],
    [
      'three strings in any order',
      [text('Help.Me', 'Me'), text('Hello', 'There'), text('General', 'Kenobi')],
      '4c360f3fdafd970e05fae2f149d997f5',
    ],
    ['another', [text('MyAttribute', 'foobar')], 'adb59cd4678ea5a855436b949cd07ab6'],
    ['short', [text('k', 'x')], 'a45daa70926828a2f0a1db3418e6feb4'],
    [
      'binary',
      [
        {
          name: 'attr1',
          dataType: 'Binary',
          value: Buffer.from('traceparent\u001e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01'),
        },
      ],
      '8cbe4db156db8a94db8b801b7addb984',
    ],
    ['number', [text('timestamp', '1493147359900', 'Number')], '235c5c510d26fb653d073faed50ae77c'],
    [
      'two bytes',
      [{ name: 'b', dataType: 'Binary', value: Buffer.from([0, 1]) }],
      '973749046908c117819a7d5e12dac587',
    ],
    [
      'custom types hash with their whole text',
      [text('a', '1', 'Number.int'), text('z', 'v', 'String.custom')],
      'e9a88ee75b69f68d584976b3765f7939',
    ],
  ])('%s', (_name, attributes, md5) => {
    expect(attributesMd5(attributes)).toBe(md5);
  });
});

describe('canonical form', () => {
  it('reads back what was written, by name', () => {
    const attribute = fc.record({
      name: fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/),
      dataType: fc.constantFrom('String', 'Number', 'String.x'),
      value: fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.uint8Array({ minLength: 1 })),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(attribute, { selector: ({ name }) => name, maxLength: 10 }),
        (attributes) => {
          const sorted = [...attributes].sort((a, b) => (a.name < b.name ? -1 : 1));
          const back = decodeAttributes(encodeAttributes(attributes)).map((found) => ({
            ...found,
            value: typeof found.value === 'string' ? found.value : new Uint8Array(found.value),
          }));
          expect(back).toEqual(sorted.map(({ name, dataType, value }) => ({ name, dataType, value })));
        },
      ),
    );
  });

  it('refuses bytes cut anywhere', () => {
    const bytes = encodeAttributes([text('Foo', 'Bar'), text('k', 'x')]);
    const middle = encodeAttributes([text('Foo', 'Bar')]).length;
    for (let length = 1; length < bytes.length; length++) {
      if (length === middle) continue;
      expect(() => decodeAttributes(bytes.subarray(0, length)), String(length)).toThrow(RangeError);
    }
  });
});
