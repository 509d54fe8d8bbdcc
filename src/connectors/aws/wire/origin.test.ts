import { describe, expect, it } from 'vitest';
import { encodeAttributes } from './message-attributes.js';
import { decodeOrigin, encodeOrigin } from './origin.js';
import type { SqsOrigin } from './origin.js';

const bare: SqsOrigin = {
  messageId: '0f1e2d3c-4b5a-4968-8877-665544332211',
  bodyMd5: '900150983cd24fb0d6963f7d28e17f72',
  plainBody: false,
  sentAt: 1_764_478_000_123,
  senderId: 'AKIAEXAMPLE',
  groupId: undefined,
  dedupId: undefined,
  traceHeader: undefined,
  topicArn: undefined,
  subject: undefined,
  attributes: undefined,
  attributesMd5: undefined,
};

const full: SqsOrigin = {
  ...bare,
  groupId: 'order/42',
  dedupId: 'd-1',
  traceHeader: 'Root=1-5759e988-bd862e3fe1be46a994272793',
  topicArn: 'arn:aws:sns:kubemq:000000000000:news',
  subject: 'Grüße',
  attributes: encodeAttributes([{ name: 'a', dataType: 'String', value: 'ü' }]),
  attributesMd5: '0123456789abcdef0123456789abcdef',
};

describe('origin bytes', () => {
  it.each([
    ['a plain message', bare],
    ['one with everything', full],
    ['one whose body is plain', { ...bare, plainBody: true }],
    ['a group only', { ...bare, groupId: 'g' }],
  ])('read back %s', (_name, origin) => {
    expect(decodeOrigin(encodeOrigin(origin))).toEqual(origin);
    expect(decodeOrigin(new Uint8Array(encodeOrigin(origin)))).toEqual(origin);
  });

  it('are small for a plain message', () => {
    expect(encodeOrigin(bare).length).toBeLessThanOrEqual(96);
  });

  it('of another version are none', () => {
    const bytes = encodeOrigin(bare);
    bytes[0] = 9;
    expect(decodeOrigin(bytes)).toBeUndefined();
    expect(decodeOrigin(new Uint8Array(3))).toBeUndefined();
  });
});
