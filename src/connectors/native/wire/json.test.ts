import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBase64 } from './base64.js';
import { parseJson, writeJson } from './json-text.js';
import { jsonType } from './json.js';
import { Event, QueueMessagesBatchRequest, Request, Response } from './messages.js';

const event = jsonType(Event, 'kubemq.Event');
const response = jsonType(Response, 'kubemq.Response');
const request = jsonType(Request, 'kubemq.Request');
const batch = jsonType(QueueMessagesBatchRequest, 'kubemq.QueueMessagesBatchRequest');

describe('messages as JSON', () => {
  it('take names in any case, base64, and what is null or unknown as nothing', () => {
    const read = event.decode(
      '{"eventID":"1","ClientId":"c","CHANNEL":"ch","Metadata":null,"body":"aGVsbG8=","store":true,"Other":{},' +
        '"Tags":{"a":"b","__proto__":"kept"}}',
    );
    expect(read).toMatchObject({ eventId: '1', clientId: 'c', channel: 'ch', metadata: '', store: true });
    expect(Buffer.from(read.body).toString()).toBe('hello');
    expect([...read.tags]).toEqual([
      ['a', 'b'],
      ['__proto__', 'kept'],
    ]);
    expect(event.decode('')).toEqual(event.decode('{}'));
  });

  it('keep every digit of 64-bit integers, as numbers and as texts', () => {
    for (const text of ['1700000000123456789', '"1700000000123456789"']) {
      expect(
        response.decode(`{"Timestamp":${text},"Metadata":"1700000000123456789 \\" 1234567890123456789"}`),
      ).toMatchObject({
        timestamp: 1700000000123456789n,
        metadata: '1700000000123456789 " 1234567890123456789',
      });
    }
    expect(response.decode('{"Timestamp":-5}').timestamp).toBe(-5n);
    expect(writeJson(response.toJson({ timestamp: 1700000000123456789n, executed: true }))).toBe(
      '{"Timestamp":1700000000123456789,"Executed":true}',
    );
  });

  it('are written in the names and the order of the contract, without what is empty, indented by tabs', () => {
    const tags = new Map([['__proto__', 'x']]);
    const body = Buffer.from('hi');
    expect(writeJson(event.toJson({ tags, body, channel: 'c', store: false, metadata: '' }), '\t')).toBe(
      '{\n\t"Channel": "c",\n\t"Body": "aGk=",\n\t"Tags": {\n\t\t"__proto__": "x"\n\t}\n}',
    );
    expect(writeJson({ data: {}, list: [1, 'a'] })).toBe('{"data":{},"list":[1,"a"]}');
  });

  it.each([
    ['{', 'the body is not valid JSON'],
    ['[]', 'kubemq.Event must be an object'],
    ['"x"', 'kubemq.Event must be an object'],
    ['{"Channel":5}', 'Channel must be text'],
    ['{"Body":"a"}', 'Body must be base64 text'],
    ['{"Body":"a-b_"}', 'Body must be base64 text'],
    ['{"Body":[1]}', 'Body must be base64 text'],
    ['{"Store":"yes"}', 'Store must be true or false'],
    ['{"Tags":[]}', 'Tags must be an object of texts'],
    ['{"Tags":{"a":1}}', 'Tags must be an object of texts'],
  ])('refuse %s', (text, why) => {
    expect(() => event.decode(text)).toThrow(why);
  });

  it('refuse integers that do not fit, and lists that are none', () => {
    for (const bad of ['1.5', '2147483648', '"x"', 'true', '99999999999999999999']) {
      expect(() => request.decode(`{"Timeout":${bad}}`)).toThrow('Timeout must be a 32-bit integer');
    }
    expect(() => response.decode('{"Timestamp":9223372036854775808}')).toThrow('64-bit');
    expect(() => batch.decode('{"Messages":{}}')).toThrow('Messages must be a list');
    expect(() => batch.decode('{"Messages":[1]}')).toThrow('kubemq.QueueMessage must be an object');
  });

  it('survive both ways', () => {
    const tags = fc.array(fc.tuple(fc.string(), fc.string())).map((pairs) => new Map(pairs));
    const made = fc.record({
      clientId: fc.string({ unit: 'binary' }),
      metadata: fc.string({ unit: 'grapheme' }),
      body: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      timestamp: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      executed: fc.boolean(),
      tags,
    });
    fc.assert(
      fc.property(made, fc.constantFrom('', '\t'), (message, indent) => {
        const read = response.decode(writeJson(response.toJson(message), indent));
        expect(read).toMatchObject({ ...message, body: expect.anything() as unknown });
        expect(Buffer.from(read.body)).toEqual(message.body);
      }),
      { numRuns: 200, seed: 20261130 },
    );
  });

  it('read any text as a message or refuse it', () => {
    const json = fc.oneof(
      fc.string(),
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify({ Tags: value, Body: value, Messages: [value] })),
    );
    fc.assert(
      fc.property(json, (text) => {
        for (const type of [event, batch]) {
          try {
            type.decode(text);
          } catch (caught) {
            expect((caught as Error).constructor.name).toBe('JsonError');
          }
        }
      }),
      { numRuns: 300, seed: 20261130 },
    );
  });

  it('quote long integers outside of texts only', () => {
    expect(
      parseJson('{"a":[1234567890123456789,-1234567890123456],"b":"x\\\\\\"1234567890123456789"}'),
    ).toEqual({
      a: ['1234567890123456789', '-1234567890123456'],
      b: 'x\\"1234567890123456789',
    });
    expect(parseJson('1234567890123456.5')).toBe(1234567890123456.5);
    for (const bad of ['{"1234567890123456', '1234567890123456789x', '"\\1234567890123456']) {
      expect(() => parseJson(bad)).toThrow(SyntaxError);
    }
  });

  it('take base64 with and without padding', () => {
    expect(['', 'YQ==', 'YQ', 'YWI=', 'YWI', 'YWJj'].map((text) => fromBase64(text)?.toString())).toEqual([
      '',
      'a',
      'a',
      'ab',
      'ab',
      'abc',
    ]);
    expect(['Y', '=', 'Y===', 'YQ=a', 'Y Q='].map(fromBase64)).toEqual(Array(5).fill(undefined));
  });
});
