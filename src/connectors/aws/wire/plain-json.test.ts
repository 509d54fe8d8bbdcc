import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainStringsOf } from './plain-json.js';

const FIELD = Buffer.from('"MessageBody"');

function bodies(json: string, count: number): readonly string[] | undefined {
  return plainStringsOf(Buffer.from(json), FIELD, count)?.map((bytes) => bytes.toString('latin1'));
}

describe('strings of a field in plain JSON', () => {
  it('are found where they stand, however the text is spaced', () => {
    expect(bodies('{"MessageBody":"a b"}', 1)).toEqual(['a b']);
    expect(bodies('{"E":[{"Id":"1","MessageBody" :\n "x"},{"MessageBody": "", "Id":"2"}]}', 2)).toEqual([
      'x',
      '',
    ]);
  });

  it('are none when the name is not there as often as it should, or is something else', () => {
    expect(bodies('{}', 1)).toBeUndefined();
    expect(bodies('{"MessageBody":"a","MessageBody":"b"}', 1)).toBeUndefined();
    expect(bodies('{"MessageBody":"a","MessageBody":"b"}', 3)).toBeUndefined();
    expect(bodies('{"Id":"MessageBody","Body":"b"}', 1)).toBeUndefined();
    expect(bodies('{"MessageBody":{"a":"b"}}', 1)).toBeUndefined();
    expect(bodies('{"MessageBody":12,"a":"b"}', 1)).toBeUndefined();
    expect(bodies('["MessageBody"]', 1)).toBeUndefined();
  });

  it('are what JSON.parse reads, or none', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '{', ':', ',', 'MessageBody'), maxLength: 5 });
    const name = fc.constantFrom('MessageBody', 'Id', 'Other');
    const entry = fc.dictionary(name, fc.oneof(text, fc.dictionary(name, text)));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 4 }), fc.constantFrom(0, 1), (entries, indent) => {
        const found = bodies(JSON.stringify({ Entries: entries }, undefined, indent), entries.length);
        const parsed = entries.map((one) => one['MessageBody']);
        if (found !== undefined && parsed.every((body) => typeof body === 'string'))
          expect(found).toEqual(parsed);
      }),
    );
  });
});
