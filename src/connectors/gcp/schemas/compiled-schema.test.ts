import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Schema_Type } from '../wire/gen/google/pubsub/v1/schema_pb.js';
import { compileSchema, type DataEncoding } from './compiled-schema.js';
import { SchemaFault } from './schema-fault.js';

const avro = (schema: unknown) =>
  compileSchema(Schema_Type.AVRO, typeof schema === 'string' ? schema : JSON.stringify(schema));
const proto = (text: string) => compileSchema(Schema_Type.PROTOCOL_BUFFER, text);
const record = (...fields: object[]) => ({ type: 'record', name: 'R', fields });

type Compiled = ReturnType<typeof avro>;
const ok = (schema: Compiled, data: string | Uint8Array, encoding: DataEncoding = 'JSON'): void =>
  schema.check(Buffer.from(data), encoding);
const no = (schema: Compiled, data: string | Uint8Array, encoding: DataEncoding = 'JSON'): void => {
  expect(() => ok(schema, data, encoding)).toThrow(SchemaFault);
};

describe('Avro', () => {
  const everything = avro(
    record(
      { name: 'text', type: 'string' },
      { name: 'maybe', type: ['null', 'string', 'int'], default: null },
      { name: 'count', type: 'long', default: 1 },
      { name: 'raw', type: 'bytes', default: '\u00ff' },
      { name: 'list', type: { type: 'array', items: 'int' }, default: [] },
      { name: 'by', type: { type: 'map', values: 'double' }, default: {} },
      { name: 'four', type: { type: 'fixed', name: 'Four', size: 4 }, default: 'abcd' },
      { name: 'color', type: { type: 'enum', name: 'Color', symbols: ['RED', 'BLUE'] }, default: 'RED' },
    ),
  );

  it.each([
    '{"text":"a"}',
    '{"text":"a","maybe":null}',
    '{"text":"a","maybe":{"string":"x"}}',
    '{"text":"a","maybe":{"int":5}}',
    '{"text":"a","count":9223372036854775807}',
    '{"text":"a","raw":"\\u0000\\u00ff"}',
    '{"text":"a","list":[1,2],"by":{"x":1.5},"four":"1234","color":"BLUE"}',
    '{"text":"a","undeclared":1}',
  ])('takes the JSON %s', (data) => ok(everything, data));

  it.each([
    '',
    'x',
    '[]',
    'null',
    '{}',
    '{"text":1}',
    '{"text":"a","maybe":"bare"}',
    '{"text":"a","maybe":{"string":"x","int":1}}',
    '{"text":"a","maybe":{"boolean":true}}',
    '{"text":"a","count":1.5}',
    '{"text":"a","count":1e300}',
    '{"text":"a","raw":"\u0100"}',
    '{"text":"a","list":["1"]}',
    '{"text":"a","by":{"x":"1"}}',
    '{"text":"a","four":"123"}',
    '{"text":"a","color":"GREEN"}',
  ])('refuses the JSON %s', (data) => no(everything, data));

  it('says where it is wrong', () => {
    const nested = avro(record({ name: 'list', type: { type: 'array', items: record2('x') } }));
    expect(() => ok(nested, '{"list":[{"x":1},{"x":"1"}]}')).toThrow('list.1.x: not of type int');
  });
  const record2 = (name: string) => ({ type: 'record', name: 'Inner', fields: [{ name, type: 'int' }] });

  it('reads binary to its end', () => {
    const schema = avro(record({ name: 'text', type: 'string' }, { name: 'count', type: 'long' }));
    const data = [2, 0x61, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    ok(schema, Uint8Array.from(data), 'BINARY');
    no(schema, Uint8Array.from(data.slice(0, -1)), 'BINARY');
    no(schema, Uint8Array.from([...data, 0]), 'BINARY');
    no(schema, '{"text":"a","count":1}', 'BINARY');
  });

  it.each([
    ['array', { type: 'array', items: 'double' }],
    ['map', { type: 'map', values: 'string' }],
  ])('does not believe how many items an %s of a few bytes has', (_, type) => {
    const schema = compileSchema(Schema_Type.AVRO, JSON.stringify(type));
    // 2^44 items, and as many in a block that says its size.
    for (const count of ['808080808080 08', 'ffffffffffff07 02']) {
      const data = Buffer.from(`${count}026102610261`.replaceAll(' ', ''), 'hex');
      expect(() => schema.check(data, 'BINARY')).toThrow('more items than it can hold');
    }
  });

  it('knows primitives at the top, and recursion', () => {
    ok(avro('"string"'), '"x"');
    no(avro('"string"'), '1');
    const list = avro({
      type: 'record',
      name: 'Node',
      fields: [{ name: 'next', type: ['null', 'Node'] }],
    });
    ok(list, '{"next":{"Node":{"next":null}}}');
    no(list, '{"next":{"Node":{}}}');
    no(list, `${'{"next":{"Node":'.repeat(500)}{"next":null}${'}}'.repeat(500)}`);
  });

  it.each([
    '',
    'garbage',
    '"Unknown"',
    '{"type":"record","name":"A b","fields":[]}',
    '{"type":"record","name":"A","fields":[{"name":"x y","type":"int"}]}',
    '{"type":"record","fields":[]}',
    '{"type":"enum","name":"E","symbols":["A","A"]}',
    '{"type":"array","items":"null"}',
    '{"type":"record","name":"A","fields":[{"name":"x","type":"int","default":"y"}]}',
    `${'{"type":"array","items":'.repeat(200)}"int"${'}'.repeat(200)}`,
    `"${' '.repeat(310_000)}"`,
  ])('refuses a definition (%#)', (definition) => {
    expect(() => avro(definition)).toThrow(SchemaFault);
  });

  it('lets a revision follow that both sides can read', () => {
    const first = avro(record({ name: 'a', type: 'int' }));
    avro(record({ name: 'a', type: 'int' }, { name: 'b', type: 'int', default: 0 })).checkFollows(first);
    expect(() =>
      avro(record({ name: 'a', type: 'int' }, { name: 'b', type: 'int' })).checkFollows(first),
    ).toThrow(SchemaFault);
    expect(() => avro(record({ name: 'a', type: 'string' })).checkFollows(first)).toThrow(SchemaFault);
    // A wider number is read back by the new side only.
    expect(() => avro(record({ name: 'a', type: 'long' })).checkFollows(first)).toThrow(SchemaFault);
  });
});

describe('Protocol Buffers', () => {
  const everything = proto(`
    // A comment before the syntax.
    syntax = "proto3";
    package shop.v1;
    import "google/protobuf/timestamp.proto";
    message Order {
      string some_name = 1;
      int64 count = 2;
      optional bool flag = 3;
      Color color = 4;
      repeated Item items = 5;
      map<string, Item> by_name = 6;
      google.protobuf.Timestamp at = 7;
      oneof either { int32 left = 8; string right = 9; }
      bytes raw = 10;
      message Item { int32 n = 1; map<int32, string> texts = 2; }
      enum Color { RED = 0; BLUE = 1; }
    }`);

  it.each([
    '{}',
    '{"someName":"a","count":"12","flag":false}',
    '{"some_name":"a","count":12}',
    '{"color":"BLUE","items":[{"n":1},{"texts":{"5":"x"}}]}',
    '{"byName":{"a":{"n":2}},"at":"2026-01-02T03:04:05Z","raw":"AAE="}',
    '{"left":1}',
  ])('takes the JSON %s', (data) => ok(everything, data));

  it.each([
    '',
    '[]',
    '{"someName":1}',
    '{"count":"x"}',
    '{"undeclared":1}',
    '{"color":"GREEN"}',
    '{"left":1,"right":"x"}',
    '{"at":"yesterday"}',
    '{"items":{}}',
  ])('refuses the JSON %s', (data) => no(everything, data));

  it('reads binary', () => {
    ok(everything, Uint8Array.from([0x0a, 1, 0x61, 0x10, 5]), 'BINARY');
    ok(everything, '', 'BINARY');
    no(everything, Uint8Array.from([0x0a, 5, 0x61]), 'BINARY');
    no(everything, Uint8Array.from([0x07]), 'BINARY');
  });

  it('wants what proto2 requires', () => {
    const schema = proto('message M { required string a = 1; optional int32 b = 2 [default = 5]; }');
    ok(schema, '{"a":"x"}');
    no(schema, '{"b":1}');
    no(schema, '', 'BINARY');
  });

  it.each([
    '',
    'garbage',
    'syntax = "proto3";',
    'syntax = "proto3"; enum E { A = 0; }',
    'syntax = "proto3"; message A {} message B {}',
    'syntax = "proto3"; message A { Unknown x = 1; }',
    'syntax = "proto3"; message A { int32 x = 1; int32 y = 1; }',
    'syntax = "proto3"; import "other.proto"; message A { int32 x = 1; }',
    'edition = "2023"; message A { int32 x = 1; }',
    `syntax = "proto3"; ${'message A { '.repeat(2000)}`,
  ])('refuses a definition (%#)', (definition) => {
    expect(() => proto(definition)).toThrow(SchemaFault);
  });

  it('lets a revision add and remove optional fields only', () => {
    const first = proto('syntax = "proto3"; message M { string a = 1; int32 b = 2; repeated int32 c = 3; }');
    const follows = (fields: string) =>
      proto(`syntax = "proto3"; message M { ${fields} }`).checkFollows(first);
    follows('string a = 1; int32 b = 2; repeated int32 c = 3; optional int64 d = 4;');
    follows('string a = 1; repeated int32 c = 3;');
    expect(() => follows('string a = 1; int32 b = 2;')).toThrow("field 'c' of M is not optional");
    expect(() => follows('bytes a = 1; int32 b = 2; repeated int32 c = 3;')).toThrow(
      'field 1 of M cannot be changed',
    );
    expect(() => follows('string z = 1; int32 b = 2; repeated int32 c = 3;')).toThrow('cannot be changed');
  });
});

it('ends on anything with a fault or without', () => {
  const text = fc.oneof(
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('message', 'record', '{"type":'),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(Schema_Type.AVRO, Schema_Type.PROTOCOL_BUFFER),
      text,
      text,
      (type, definition, data) => {
        try {
          const schema = compileSchema(type, definition);
          for (const encoding of ['JSON', 'BINARY'] as const) {
            try {
              schema.check(Buffer.from(data), encoding);
            } catch (caught) {
              expect(caught).toBeInstanceOf(SchemaFault);
            }
          }
        } catch (caught) {
          expect(caught).toBeInstanceOf(SchemaFault);
        }
      },
    ),
    { seed: 4, numRuns: 80 },
  );
});

it('takes or refuses any data for schemas that are whole', () => {
  const avro = JSON.stringify({
    type: 'record',
    name: 'Any',
    fields: [
      { name: 'n', type: ['null', 'long'], default: null },
      { name: 'list', type: { type: 'array', items: { type: 'map', values: 'double' } } },
      { name: 'kind', type: { type: 'enum', name: 'Kind', symbols: ['A', 'B'] } },
      { name: 'fixed', type: { type: 'fixed', name: 'Four', size: 4 } },
      { name: 'next', type: ['null', 'Any'] },
    ],
  });
  const proto = `syntax = "proto3"; message Any { repeated sint64 n = 1; map<string, bytes> m = 2; oneof o { Any next = 3;
    double d = 4; } enum Kind { A = 0; B = 7; } Kind kind = 5; repeated fixed32 f = 6; }`;
  const schemas = [
    compileSchema(Schema_Type.AVRO, avro),
    compileSchema(Schema_Type.PROTOCOL_BUFFER, proto),
  ] as const;
  const good = [
    '{"n":{"long":1},"list":[{"a":1.5}],"kind":"A","fixed":"abcd","next":null}',
    '{"n":["1","-2"],"m":{"a":"aGk="},"next":{"d":1},"kind":"B","f":[1]}',
  ] as const;
  schemas.forEach((schema, i) => schema.check(Buffer.from(good[i]!), 'JSON'));
  const names = fc.constantFrom('n', 'list', 'kind', 'fixed', 'next', 'm', 'd', 'f', 'long', 'x');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(fc.jsonValue(), fc.dictionary(names, tie('tree')), fc.array(tie('tree'))),
  }));
  const changed = fc
    .tuple(fc.constantFrom(...good), fc.nat(), fc.string({ maxLength: 2 }))
    .map(([text, at, piece]) => {
      const place = at % text.length;
      return Buffer.from(text.slice(0, place) + piece + text.slice(place + 1));
    });
  const data = fc.oneof(
    tree.map((value) => Buffer.from(JSON.stringify(value))),
    changed,
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...schemas),
      fc.constantFrom('JSON', 'BINARY'),
      data,
      (schema, encoding, bytes) => {
        try {
          schema.check(bytes, encoding);
        } catch (caught) {
          expect(caught).toBeInstanceOf(SchemaFault);
        }
      },
    ),
    { seed: 6, numRuns: 400 },
  );
});
