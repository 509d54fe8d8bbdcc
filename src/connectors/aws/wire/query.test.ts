import { describe, expect, it } from 'vitest';
import { parseForm, QUERY_PARAMETERS_MAX, readQuery } from './query.js';
import { entryMap, flatList, flatMap, memberList, scalar, scalars, structure } from './shape.js';

function read(form: string, shape: Parameters<typeof readQuery>[1]): unknown {
  const parameters = parseForm(form);
  if (parameters === undefined) throw new Error('malformed');
  return JSON.parse(JSON.stringify(readQuery(parameters, shape)));
}

describe('form parsing', () => {
  it('unescapes names and values', () => {
    expect(parseForm('a=1+2&b%2Ec=%C3%BC&flag&=x&&e=')).toEqual(
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
    expect(parseForm('a=%ff')).toBeUndefined();
    expect(parseForm('a=%zz')).toBeUndefined();
    expect(parseForm('a&'.repeat(QUERY_PARAMETERS_MAX + 1))).toBeUndefined();
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
      parseForm('Attributes.entry.1.key=__proto__&Attributes.entry.1.value=x') ?? new Map<string, string>();
    const { Attributes } = readQuery(parameters, shape);
    expect(Object.entries(Attributes as object)).toEqual([['__proto__', 'x']]);
  });
});
