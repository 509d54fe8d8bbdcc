import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodiesOf } from '../sqs/outgoing-message.js';
import { parseJsonInput } from './json.js';
import { cutStrings } from './plain-json.js';

const FIELD = Buffer.from('"MessageBody"');

function cut(json: string): { text: string; strings: string[] } | undefined {
  const found = cutStrings(Buffer.from(json), FIELD);
  return found && { text: found.text, strings: found.strings.map((bytes) => bytes.toString('latin1')) };
}

describe('strings cut out of plain JSON', () => {
  it('are found where they stand, however the text is spaced', () => {
    expect(cut('{"MessageBody":"a b"}')).toEqual({ text: '{"MessageBody":""}', strings: ['a b'] });
    expect(cut('{"E":[{"Id":"1","MessageBody" :\n "x"},{"MessageBody": "", "Id":"2"}]}')).toEqual({
      text: '{"E":[{"Id":"1","MessageBody" :\n ""},{"MessageBody": "", "Id":"2"}]}',
      strings: ['x', ''],
    });
  });

  it('are none when the name is not there or is something else', () => {
    expect(cut('{}')).toBeUndefined();
    expect(cut('{"Id":"MessageBody","Body":"b"}')).toBeUndefined();
    expect(cut('{"MessageBody":{"a":"b"}}')).toBeUndefined();
    expect(cut('{"MessageBody":12,"a":"b"}')).toBeUndefined();
    expect(cut('["MessageBody"]')).toBeUndefined();
    expect(cut('{"MessageBody":"')).toBeUndefined();
    expect(cut('{"MessageBody":"open')).toBeUndefined();
  });

  it('hold no control character, wherever it stands', () => {
    for (let length = 1; length <= 9; length++) {
      for (let at = 0; at < length; at++) {
        for (let code = 0; code < 0x80; code++) {
          if (code === 0x22) continue;
          const body = 'x'.repeat(at) + String.fromCharCode(code) + ' '.repeat(length - at - 1);
          expect(cut(`{"MessageBody":"${body}"}`)?.strings).toEqual(code < 0x20 ? undefined : [body]);
        }
      }
    }
  });
});

const BATCH = bodiesOf((input) => (Array.isArray(input['Entries']) ? input['Entries'] : undefined));
const SINGLE = bodiesOf((input) => [input]);

/** What a whole parse gives; undefined where it gives no object. */
function wholeParse(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The input with its bodies back in their places. */
function putBack(read: ReturnType<typeof parseJsonInput>): unknown {
  if (read === undefined) return undefined;
  const { input, strings } = read;
  const entries = (input['Entries'] ?? [input]) as Record<string, unknown>[];
  strings?.forEach((bytes, i) => {
    expect(entries[i]?.['MessageBody']).toBe('');
    (entries[i] as Record<string, unknown>)['MessageBody'] = bytes.toString('latin1');
  });
  return input;
}

const text = fc.string({
  unit: fc.constantFrom(
    'a',
    ' ',
    '{',
    '}',
    ':',
    ',',
    '"',
    '\\',
    '\n',
    'é',
    '\u0000',
    '\u007f',
    'MessageBody',
  ),
  maxLength: 5,
});
const name = fc.constantFrom('MessageBody', 'Id', 'Other', '__proto__', 'Entries');
const scalar = fc.oneof({ weight: 8, arbitrary: text }, fc.constantFrom(1, null, true));
const entry = fc.dictionary(name, fc.oneof(scalar, fc.dictionary(name, scalar)));
const request = fc.oneof(
  entry,
  fc.record({ Entries: fc.array(entry, { maxLength: 4 }) }),
  fc.record({ Entries: fc.array(fc.record({ Id: text, MessageBody: text }), { maxLength: 4 }) }),
);

describe('a request whose bodies stay in its bytes', () => {
  it('reads as JSON.parse reads it', () => {
    fc.assert(
      fc.property(request, fc.constantFrom(0, 1), (value, indent) => {
        const json = JSON.stringify(value, undefined, indent);
        const long = 'Entries' in value ? BATCH : SINGLE;
        expect(putBack(parseJsonInput(Buffer.from(json), long))).toEqual(wholeParse(json));
      }),
      { numRuns: 2000 },
    );
  });

  it('is refused when JSON.parse refuses it', () => {
    // Pieces of JSON in any order: names twice, values without names, strings left open.
    const piece = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"', '"MessageBody"', '"MessageBody":"x"', '"Entries":['],
      ...['MessageBody', '"a"', ' ', '\n', '1', '{"MessageBody":"', '"}', '\u0001'],
    );
    const pieces = fc.array(piece, { maxLength: 12 }).map((all) => all.join(''));
    const wrapped = pieces.map((inner) => `{"Entries":[{"MessageBody":"${inner}"}]}`);
    fc.assert(
      fc.property(fc.oneof(pieces, wrapped), fc.constantFrom(BATCH, SINGLE), (json, long) => {
        const read = parseJsonInput(Buffer.from(json), long);
        if (json === '') return;
        const whole = wholeParse(json);
        expect(read === undefined).toBe(whole === undefined);
        if (read?.strings === undefined) expect(read?.input).toEqual(whole);
        else expect(putBack(read)).toEqual(whole);
      }),
      { numRuns: 5000 },
    );
  });

  it('keeps whole what cannot be told apart', () => {
    const twice = '{"Entries":[{"MessageBody":"a"}],"Entries":[{"MessageBody":"b"}]}';
    const nested = '{"Entries":[{"MessageBody":"a","X":{"MessageBody":"b"}}]}';
    const moved = '{"MessageBody":"z","Entries":[{"Id":"1"}]}';
    for (const json of [twice, nested, moved]) {
      const read = parseJsonInput(Buffer.from(json), BATCH);
      expect(read).toEqual({ input: JSON.parse(json) as unknown, strings: undefined });
    }
  });
});
