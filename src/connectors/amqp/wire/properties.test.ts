import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_TABLE, encodeTable, stringField } from './field-table.js';
import { decodeProperties, encodeProperties, NO_PROPERTIES } from './properties.js';
import type { Properties } from './properties.js';
import { scanProperties } from './property-scan.js';
import { ReplyError } from './reply.js';
import { anyTable } from '../../../../test/support/amqp-tables.js';

const text = fc.string({ maxLength: 30 });
const anyProperties: fc.Arbitrary<Properties> = fc.record(
  {
    contentType: text,
    contentEncoding: text,
    headers: anyTable(),
    deliveryMode: fc.integer({ min: 0, max: 255 }),
    priority: fc.integer({ min: 0, max: 255 }),
    correlationId: text,
    replyTo: text,
    expiration: text,
    messageId: text,
    timestamp: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    type: text,
    userId: text,
    appId: text,
    clusterId: text,
  },
  { requiredKeys: [] },
);

describe('properties codec', () => {
  it('writes golden bytes', () => {
    expect(encodeProperties({}).equals(NO_PROPERTIES)).toBe(true);
    const bytes = encodeProperties({
      contentType: 'text/plain',
      deliveryMode: 2,
      messageId: 'm1',
      clusterId: 'c',
    });
    expect(bytes.toString('hex')).toBe('9084' + '0a746578742f706c61696e' + '02' + '026d31' + '0163');
  });

  it('gives back any properties, and scans them alike', () => {
    fc.assert(
      fc.property(anyProperties, (properties) => {
        const bytes = encodeProperties(properties);
        expect(decodeProperties(bytes)).toEqual(properties);
        const scan = scanProperties(bytes, 0, bytes.length);
        expect(scan.deliveryMode).toBe(properties.deliveryMode ?? 1);
        expect(scan.priority).toBe(properties.priority);
        expect(scan.expiration).toBe(properties.expiration);
        expect(scan.replyTo).toBe(properties.replyTo);
        expect(scan.userId).toBe(properties.userId);
      }),
    );
  });

  it('keeps an empty headers table and no headers table apart', () => {
    expect(decodeProperties(encodeProperties({ headers: EMPTY_TABLE })).headers).toEqual(EMPTY_TABLE);
    expect(decodeProperties(encodeProperties({})).headers).toBeUndefined();
    expect(encodeProperties({ headers: EMPTY_TABLE }).toString('hex')).toBe('200000000000');
  });

  it('sees headers the broker acts on', () => {
    for (const key of ['x-delay', 'CC', 'BCC']) {
      const bytes = encodeProperties({
        headers: new Map([
          ['a', stringField('b')],
          [key, stringField('v')],
        ]),
      });
      expect(scanProperties(bytes, 0, bytes.length).specialHeaders).toBe(true);
    }
    const plain = encodeProperties({ headers: new Map([['cc', stringField('v')]]) });
    expect(scanProperties(plain, 0, plain.length).specialHeaders).toBe(false);
  });

  it('refuses undefined flags, truncations and bytes behind the list', () => {
    const good = encodeProperties({ headers: new Map([['k', stringField('v')]]), timestamp: 1n, appId: 'a' });
    const bad: Buffer[] = [
      Buffer.from('0001', 'hex'),
      Buffer.from('0002', 'hex'),
      Buffer.concat([good, Buffer.from([1])]),
    ];
    for (let length = 0; length < good.length; length++) bad.push(good.subarray(0, length));
    for (const bytes of bad) {
      expect(() => decodeProperties(bytes)).toThrow(ReplyError);
      expect(() => scanProperties(bytes, 0, bytes.length)).toThrow(ReplyError);
    }
    expect(encodeTable(EMPTY_TABLE).length).toBe(4);
  });
});
