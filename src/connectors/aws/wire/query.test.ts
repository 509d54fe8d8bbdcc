import { describe, expect, it } from 'vitest';
import { SeededIds } from '../../../base/ids.js';
import { parseForm, QUERY_PARAMETERS_MAX, readQuery } from './query.js';
import { entryMap, flatList, flatMap, memberList, scalar, scalars, structure } from './shape.js';

function parseText(form: string): Map<string, string> | undefined {
  return parseForm(Buffer.from(form, 'utf8'));
}

function read(form: string, shape: Parameters<typeof readQuery>[1]): unknown {
  const parameters = parseText(form);
  if (parameters === undefined) throw new Error('malformed');
  return JSON.parse(JSON.stringify(readQuery(parameters, shape)));
}

describe('form parsing', () => {
  it('unescapes names and values', () => {
    expect(parseText('a=1+2&b%2Ec=%C3%BC&flag&=x&&e=')).toEqual(
      new Map([
        ['a', '1 2'],
        ['b.c', 'ü'],
        ['flag', ''],
        ['', 'x'],
        ['e', ''],
      ]),
    );
  });

  it('refuses malformed UTF-8 and floods', () => {
    expect(parseText('a=%ff')).toBeUndefined();
    expect(parseText('a=%zz')).toBeUndefined();
    expect(parseText('a&'.repeat(QUERY_PARAMETERS_MAX + 1))).toBeUndefined();
  });
});

/** What a form says, by the runtime's own means. */
function parseSlowly(form: Buffer): Map<string, string> | undefined {
  const out = new Map<string, string>();
  if (form.length === 0) return out;
  const pairs = form.toString('utf8').split('&');
  if (pairs.length > QUERY_PARAMETERS_MAX) return undefined;
  try {
    for (const pair of pairs.filter((one) => one !== '')) {
      const [name = '', ...rest] = pair.split('=').map((part) => part.replaceAll('+', ' '));
      out.set(decodeURIComponent(name), decodeURIComponent(rest.join('=')));
    }
  } catch {
    return undefined;
  }
  return out;
}

describe('forms byte by byte', () => {
  const PARTS = [
    ...[
      'a',
      'Message',
      '.',
      '=',
      '&',
      '+',
      ' ',
      '%',
      '%2',
      '%20',
      '%2B',
      '%26',
      '%3D',
      '%25',
      '%zz',
      '%4g',
      '% 1',
      '%-1',
    ],
    ...[
      '%00',
      '%0a',
      '%7F',
      '%80',
      '%C3%BC',
      '%c3',
      '%E2%82%AC',
      '%F0%9F%90%B0',
      '%ED%A0%80',
      '%F5',
      'ü',
      '€',
      '🐰',
    ],
    ...['\u0000', '\r\n', '"', '\\\\', 'x'.repeat(100)],
  ].map((part) => Buffer.from(part, 'utf8'));
  // Bytes that are no UTF-8.
  PARTS.push(Buffer.from([0xff]), Buffer.from([0xc3]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0xbf]));

  it('says what the runtime says, of forms of any parts', () => {
    const seed = 20_260_101;
    const ids = new SeededIds(seed);
    let read = 0;
    for (let run = 0; run < 5_000; run++) {
      const parts = Array.from(
        { length: ids.below(12) },
        () => PARTS[ids.below(PARTS.length)] ?? Buffer.alloc(0),
      );
      const form = Buffer.concat(parts);
      const expected = parseSlowly(form);
      if (expected !== undefined) read++;
      expect(parseForm(form), `seed ${seed}: ${form.toString('hex')}`).toEqual(expected);
    }
    // Both kinds came.
    expect(read).toBeGreaterThan(500);
    expect(read).toBeLessThan(4_500);
  });

  it('takes values longer than its room, and views of larger buffers', () => {
    const text = 'ab c%+&='.repeat(20_000);
    const form = Buffer.from(`zz&Message=${encodeURIComponent(text)}&b=1&Message2=${'+'.repeat(70_000)}`);
    const within = Buffer.concat([Buffer.from('=&%4'), form, Buffer.from('1=&')]).subarray(
      4,
      4 + form.length,
    );
    expect(parseForm(within)).toEqual(
      new Map([
        ['zz', ''],
        ['Message', text],
        ['b', '1'],
        ['Message2', ' '.repeat(70_000)],
      ]),
    );
    // The escape ends where the form does, whatever stands behind it.
    expect(parseForm(Buffer.from('a=%41').subarray(0, 4))).toBeUndefined();
  });

  it('adds to what is there, the later value wins', () => {
    const into = new Map([['a', '0']]);
    expect(parseForm(Buffer.from('b=1&a=2&a=3'), into)).toBe(into);
    expect([...into]).toEqual([
      ['a', '3'],
      ['b', '1'],
    ]);
    expect(parseForm(Buffer.from('&'.repeat(QUERY_PARAMETERS_MAX - 1)))).toEqual(new Map());
    expect(parseForm(Buffer.from('&'.repeat(QUERY_PARAMETERS_MAX)))).toBeUndefined();
  });
});

describe('structures of a form', () => {
  const attribute = scalars('DataType', 'StringValue', 'BinaryValue');

  it('reads SQS maps, numbered, with gaps and the old form without numbers', () => {
    const shape = structure({ QueueUrl: scalar, Attributes: flatMap('Attribute') });
    expect(
      read('Attribute.1.Name=A&Attribute.1.Value=1&Attribute.7.Name=B&Attribute.7.Value=2&QueueUrl=u', shape),
    ).toEqual({ QueueUrl: 'u', Attributes: { A: '1', B: '2' } });
    expect(read('Attribute.Name=A&Attribute.Value=1', shape)).toEqual({ Attributes: { A: '1' } });
    expect(read('Attribute.1.Name=A', shape)).toEqual({ Attributes: { A: '' } });
  });

  it('reads message attributes', () => {
    const shape = structure({ MessageAttributes: flatMap('MessageAttribute', attribute) });
    expect(
      read(
        'MessageAttribute.1.Name=k&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=x',
        shape,
      ),
    ).toEqual({ MessageAttributes: { k: { DataType: 'String', StringValue: 'x' } } });
  });

  it('reads lists in the order of their numbers, and a bare one', () => {
    const shape = structure({ Names: flatList('AttributeName') });
    expect(read('AttributeName.10=c&AttributeName.2=b&AttributeName.1=a', shape)).toEqual({
      Names: ['a', 'b', 'c'],
    });
    expect(read('AttributeName=All', shape)).toEqual({ Names: ['All'] });
  });

  it('reads batches with nested maps', () => {
    const shape = structure({
      Entries: flatList(
        'Entry',
        structure({ Id: scalar, MessageAttributes: flatMap('MessageAttribute', attribute) }),
      ),
    });
    expect(
      read(
        'Entry.1.Id=a&Entry.1.MessageAttribute.1.Name=k&Entry.1.MessageAttribute.1.Value.StringValue=x&Entry.2.Id=b',
        shape,
      ),
    ).toEqual({ Entries: [{ Id: 'a', MessageAttributes: { k: { StringValue: 'x' } } }, { Id: 'b' }] });
  });

  it('reads SNS members and entries, in either case and without the word', () => {
    const shape = structure({ Attributes: entryMap(), Tags: memberList(scalars('Key', 'Value')) });
    const expected = { Attributes: { A: '1' }, Tags: [{ Key: 'k', Value: 'v' }] };
    expect(
      read(
        'Attributes.entry.1.key=A&Attributes.entry.1.value=1&Tags.member.1.Key=k&Tags.member.1.Value=v',
        shape,
      ),
    ).toEqual(expected);
    expect(
      read('Attributes.entry.1.Name=A&Attributes.entry.1.Value=1&Tags.1.Key=k&Tags.1.Value=v', shape),
    ).toEqual(expected);
  });

  it('keeps names that objects have of their own', () => {
    const shape = structure({ Attributes: entryMap() });
    const parameters =
      parseText('Attributes.entry.1.key=__proto__&Attributes.entry.1.value=x') ?? new Map<string, string>();
    const { Attributes } = readQuery(parameters, shape);
    expect(Object.entries(Attributes as object)).toEqual([['__proto__', 'x']]);
  });
});
