import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { SubscriptionSchema } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { encodeMessageFields } from '../wire/message-fields.js';
import { PUSH_LIMITS } from './limits.js';
import { checkPush, isPush } from './push-endpoint.js';
import { pushRequest } from './push-request.js';
import { PushWindow } from './push-window.js';

const subscription = (more: MessageInitShape<typeof SubscriptionSchema>) => create(SubscriptionSchema, more);

describe('push endpoints', () => {
  const check = (pushEndpoint: string, allowHttp = false) =>
    checkPush(allowHttp)(subscription({ pushConfig: { pushEndpoint } }), undefined);

  it.each([
    'https://example.com/x',
    'http://localhost:8080',
    'http://127.0.0.2/',
    'http://[::1]:1/',
    'http://a.localhost',
  ])('may be %s', (endpoint) => check(endpoint));

  it.each([
    'not-a-url',
    'http://example.com',
    'http://10.0.0.1/',
    'ftp://localhost/',
    'https://',
    'localhost:80',
  ])('may not be %s', (endpoint) => {
    expect(() => check(endpoint)).toThrow(`Invalid push endpoint given (endpoint=${endpoint}).`);
  });

  it('may be http anywhere when that is allowed', () => {
    void check('http://example.com', true);
    expect(() => check('ftp://example.com', true)).toThrow('Invalid push endpoint');
  });

  it('have settings that make sense', () => {
    const pushEndpoint = 'https://example.com';
    const bad = (more: MessageInitShape<typeof SubscriptionSchema>) =>
      expect(() => checkPush(false)(subscription(more), undefined)).toThrow();
    bad({ pushConfig: { pushEndpoint }, enableExactlyOnceDelivery: true });
    bad({ pushConfig: { pushEndpoint, attributes: { 'x-goog-version': 'v9' } } });
    bad({ pushConfig: { pushEndpoint, authenticationMethod: { case: 'oidcToken', value: {} } } });
  });

  it('make a push subscription', () => {
    const pushConfig = { pushEndpoint: 'https://x' };
    expect(isPush(subscription({ pushConfig }))).toBe(true);
    expect(isPush(subscription({ pushConfig, detached: true }))).toBe(false);
    expect(isPush(subscription({ pushConfig: {} }))).toBe(false);
    expect(isPush(subscription({}))).toBe(false);
  });
});

describe('a push request', () => {
  const fields = (attributes: [string, string][] = [], orderingKey = '') =>
    encodeMessageFields({
      messageId: '12',
      publishTime: 1_700_000_000_123,
      orderingKey,
      attributes: new Map(attributes),
    });
  const parts = {
    subscription: 'projects/p/subscriptions/s',
    deliveryAttempt: 0,
    unwrapped: undefined,
    token: '',
  };
  const bodyOf = (more: Partial<Parameters<typeof pushRequest>[0]>): unknown => {
    const message = { data: Buffer.from('x'), fields: fields([['a', 'b']], 'k') };
    return JSON.parse(String(pushRequest({ ...parts, message, ...more }).body));
  };

  it('wraps the message, in both spellings', () => {
    expect(bodyOf({ deliveryAttempt: 2 })).toEqual({
      message: {
        attributes: { a: 'b' },
        data: 'eA==',
        messageId: '12',
        message_id: '12',
        orderingKey: 'k',
        publishTime: '2023-11-14T22:13:20.123Z',
        publish_time: '2023-11-14T22:13:20.123Z',
      },
      subscription: 'projects/p/subscriptions/s',
      deliveryAttempt: 2,
    });
    const bare = bodyOf({ message: { data: Buffer.alloc(0), fields: fields() } }) as { message: object };
    expect(Object.keys(bare.message)).toEqual(['messageId', 'message_id', 'publishTime', 'publish_time']);
    expect(bare).not.toHaveProperty('deliveryAttempt');
  });

  it('shows who it is from', () => {
    const { headers } = pushRequest({
      ...parts,
      message: { data: Buffer.alloc(0), fields: fields() },
      token: 'T',
    });
    expect(headers).toMatchObject({ Authorization: 'Bearer T', 'Content-Type': 'application/json' });
    expect(headers['User-Agent']).toContain('APIs-Google');
  });

  it('is the data itself when unwrapped, with metadata in headers when asked for', () => {
    const attributes: [string, string][] = [
      ['content-type', 'text/plain'],
      ['own', 'x'],
      ['Host', 'evil'],
      ['content-length', '0'],
      ['bad name', 'x'],
      ['line', 'a\r\nb: c'],
    ];
    const message = { data: Buffer.from([0, 255]), fields: fields(attributes, 'k\u20ac') };
    const bare = pushRequest({ ...parts, message, unwrapped: { writeMetadata: false } });
    expect(bare.body).toEqual(message.data);
    expect(Object.keys(bare.headers).toSorted()).toEqual(['Accept', 'Content-Type', 'User-Agent']);
    const { headers } = pushRequest({ ...parts, message, unwrapped: { writeMetadata: true } });
    expect(headers).toMatchObject({
      'Content-Type': 'text/plain',
      own: 'x',
      'x-goog-pubsub-subscription-name': 'projects/p/subscriptions/s',
      'x-goog-pubsub-message-id': '12',
      'x-goog-pubsub-publish-time': '2023-11-14T22:13:20.123Z',
      'x-goog-pubsub-ordering-key': 'k%E2%82%AC',
    });
    for (const name of ['Host', 'content-length', 'bad name', 'line'])
      expect(headers).not.toHaveProperty([name]);
  });
});

describe('the push window', () => {
  it('starts small and grows with every success', () => {
    const window = new PushWindow();
    expect(window.room(0)).toBe(PUSH_LIMITS.windowStart);
    window.begin();
    expect(window.room(0)).toBe(2);
    window.succeeded();
    expect(window.room(0)).toBe(4);
    for (let i = 0; i < 5000; i++) {
      window.begin();
      window.succeeded();
    }
    expect(window.room(0)).toBe(PUSH_LIMITS.windowMax);
  });

  it('pauses twice as long after each failure, and shrinks', () => {
    const window = new PushWindow();
    let now = 1000;
    const pauses: number[] = [];
    for (let i = 0; i < 12; i++) {
      window.failed(window.begin(), now);
      expect(window.room(now)).toBe(0);
      pauses.push(window.pausedUntil - now);
      now = window.pausedUntil;
      expect(window.room(now)).toBe(1);
    }
    expect(pauses.slice(0, 4)).toEqual([100, 200, 400, 800]);
    expect(pauses.at(-1)).toBe(60_000);
    window.begin();
    window.succeeded();
    window.failed(window.begin(), now);
    expect(window.pausedUntil - now).toBe(100);
  });

  it('takes failures of one era for one', () => {
    const window = new PushWindow();
    const eras = [window.begin(), window.begin(), window.begin()];
    expect(eras.map((era) => window.failed(era, 0))).toEqual([true, false, false]);
    expect([window.pausedUntil, window.failures, window.underWay]).toEqual([100, 1, 0]);
  });
});
