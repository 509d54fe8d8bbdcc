import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_TABLE, stringField } from './field-table.js';
import type { FieldTable } from './field-table.js';
import { decodeMethod, encodeMethod } from './method-codec.js';
import type { FieldType, MethodName } from './methods.js';
import { METHODS, methodNamed, shapeOf } from './methods.js';
import { ReplyError } from './reply.js';
import { anyTable } from '../../../../test/support/amqp-tables.js';

function fault(run: () => unknown): ReplyError {
  try {
    run();
  } catch (caught) {
    if (caught instanceof ReplyError) return caught;
    throw caught;
  }
  throw new Error('nothing was thrown');
}

const ARBITRARY: { readonly [T in FieldType]: () => fc.Arbitrary<unknown> } = {
  bit: () => fc.boolean(),
  octet: () => fc.integer({ min: 0, max: 0xff }),
  short: () => fc.integer({ min: 0, max: 0xffff }),
  long: () => fc.integer({ min: 0, max: 0xffff_ffff }),
  longlong: () => fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  shortstr: () =>
    fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => Buffer.byteLength(text) <= 255),
  longstr: () => fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  table: () => anyTable(),
};

describe('method codec', () => {
  it('writes golden bytes', () => {
    const golden: readonly (readonly [Buffer, string])[] = [
      [
        encodeMethod('connection.tune', { channelMax: 2047, frameMax: 131072, heartbeat: 60 }),
        '000a001e07ff00020000003c',
      ],
      [encodeMethod('basic.ack', { deliveryTag: 5, multiple: true }), '003c0050000000000000000501'],
      [
        encodeMethod('basic.nack', { deliveryTag: 1, multiple: false, requeue: true }),
        '003c0078000000000000000102',
      ],
      [encodeMethod('exchange.unbind-ok', {}), '00280033'],
      [
        encodeMethod('queue.declare', {
          ticket: 0,
          queue: 'q',
          passive: false,
          durable: true,
          exclusive: false,
          autoDelete: true,
          nowait: false,
          arguments: new Map([['x-a', stringField('v')]]),
        }),
        '0032000a000001710a0000000a03782d61530000000176',
      ],
    ];
    for (const [bytes, hex] of golden) expect(bytes.toString('hex')).toBe(hex);
  });

  it('reads back every method with any arguments', () => {
    for (const name of Object.keys(METHODS) as MethodName[]) {
      const shape = shapeOf(name);
      const args = fc.record(
        Object.fromEntries(shape.fields.map(([field, type]) => [field, ARBITRARY[type]()])),
      );
      fc.assert(
        fc.property(args, (value) => {
          const bytes = encodeMethod(name, value as never);
          const method = decodeMethod(bytes, 0, bytes.length);
          expect(method.name).toBe(name);
          expect(method.args).toEqual(value);
        }),
        { numRuns: 25 },
      );
    }
  });

  it('refuses truncated and overlong arguments', () => {
    const bytes = encodeMethod('exchange.declare', {
      ticket: 0,
      exchange: 'logs',
      type: 'fanout',
      passive: false,
      durable: false,
      autoDelete: false,
      internal: false,
      nowait: false,
      arguments: EMPTY_TABLE,
    });
    for (let length = 0; length < bytes.length; length++) {
      const error = fault(() => decodeMethod(bytes, 0, length));
      expect([501, 502]).toContain(error.code);
      expect(error.hard).toBe(true);
    }
    const longer = Buffer.concat([bytes, Buffer.from([0])]);
    expect(fault(() => decodeMethod(longer, 0, longer.length)).code).toBe(501);
  });

  it('names unknown methods in their refusal', () => {
    const error = fault(() => decodeMethod(Buffer.from('003c03e7', 'hex'), 0, 4));
    expect(error.culprit).toEqual({ classId: 60, methodId: 999 });
    expect(error.code).toBe(503);
    expect(methodNamed(60, 999)).toBeUndefined();
    expect(methodNamed(60, 40)).toBe('basic.publish');
  });

  it('refuses short strings that are not UTF-8', () => {
    const error = fault(() => decodeMethod(Buffer.from('0014000a02c328', 'hex'), 0, 7));
    expect(error.code).toBe(501);
    expect(error.replyText).toBe('FRAME_ERROR - Malformed UTF-8 in shortstr');
  });

  it('accepts a table whose key is there twice: the last value counts', () => {
    const table: FieldTable = new Map([['k', stringField('2')]]);
    const bytes = Buffer.from(
      '0028000a0000' + '0165' + '0164' + '00' + '00000010' + '016b530000000131' + '016b530000000132',
      'hex',
    );
    const method = decodeMethod(bytes, 0, bytes.length);
    if (method.name !== 'exchange.declare') throw new Error(method.name);
    expect(method.args.arguments).toEqual(table);
  });
});
