import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { channelName } from '../../core/channel-name.js';
import type { OutgoingMessage, StoredMessage } from '../../core/message.js';
import {
  GCP_PROTOCOL,
  MESSAGE_ID_TAG,
  messageAttributes,
  messageFields,
  messageOrderingKey,
  ORDERING_KEY_TAG,
  outgoingMessages,
  PUBLISH_TIME_TAG,
  translateOrigin,
} from './message-mapping.js';
import { PublishRequestSchema } from './wire/gen/google/pubsub/v1/pubsub_pb.js';
import { decodeMessageFields } from './wire/message-fields.js';
import { decodePublishRequest } from './wire/publish.js';

const channel = channelName('gcp.orders');
const publishTime = Date.UTC(2026, 0, 31, 12, 0, 0, 250);

function published(
  messages: readonly { data?: Uint8Array; attributes?: Record<string, string>; orderingKey?: string }[],
): readonly OutgoingMessage[] {
  const request = create(PublishRequestSchema, { topic: 't', messages: [...messages] });
  const view = decodePublishRequest(toBinary(PublishRequestSchema, request));
  const messageIds = messages.map((_, i) => `1000000000000000${i}`);
  return outgoingMessages({ channel, messages: view.messages, messageIds, publishTime });
}

/** What a stored message of these parts looks like. */
function stored(parts: Partial<StoredMessage>): StoredMessage {
  return {
    id: 'gcp.orders-1',
    hasOwnId: false,
    clientId: '',
    metadata: '',
    tags: new Map(),
    body: new Uint8Array(0),
    policy: {},
    priority: 0,
    origin: undefined,
    ...parts,
  };
}

describe('a published message', () => {
  it('keeps its data as body, and everything else as origin bytes', () => {
    const [first, second] = published([
      { data: Buffer.from('a'), attributes: { k: 'v', ключ: 'ü' }, orderingKey: 'key' },
      { data: Buffer.from('b') },
    ]);
    expect(Buffer.from(first?.body ?? []).toString()).toBe('a');
    expect(first).toMatchObject({ channel, origin: { protocol: GCP_PROTOCOL } });
    expect(decodeMessageFields(first?.origin?.bytes ?? new Uint8Array(0))).toEqual({
      messageId: '10000000000000000',
      publishTime,
      orderingKey: 'key',
      attributes: new Map([
        ['k', 'v'],
        ['ключ', 'ü'],
      ]),
    });
    expect(decodeMessageFields(second?.origin?.bytes ?? new Uint8Array(0))).toEqual({
      messageId: '10000000000000001',
      publishTime,
      orderingKey: '',
      attributes: new Map(),
    });
  });

  it('shows other protocols its attributes and the reserved tags', () => {
    const [message] = published([{ attributes: { k: 'v' }, orderingKey: 'key' }]);
    const view = translateOrigin(message?.origin?.bytes ?? new Uint8Array(0));
    expect(view.id).toBe('10000000000000000');
    expect(new Map(view.tags)).toEqual(
      new Map([
        ['k', 'v'],
        [MESSAGE_ID_TAG, '10000000000000000'],
        [PUBLISH_TIME_TAG, '2026-01-31T12:00:00.250Z'],
        [ORDERING_KEY_TAG, 'key'],
      ]),
    );
    const [plain] = published([{ data: Buffer.from('x') }]);
    expect(translateOrigin(plain?.origin?.bytes ?? new Uint8Array(0)).tags.has(ORDERING_KEY_TAG)).toBe(false);
  });

  it('cannot forge the reserved tags; names like them are free', () => {
    const attributes = {
      [MESSAGE_ID_TAG]: 'forged',
      [PUBLISH_TIME_TAG]: 'forged',
      [ORDERING_KEY_TAG]: 'forged',
      _pubsub_other: 'x',
      _p: 'y',
    };
    const [message] = published([{ attributes }]);
    const { attributes: kept } = decodeMessageFields(message?.origin?.bytes ?? new Uint8Array(0));
    expect(Object.fromEntries(kept)).toEqual({ _pubsub_other: 'x', _p: 'y' });
  });

  it('goes out as it came in', () => {
    const [message] = published([{ attributes: { k: 'v' }, orderingKey: 'key' }]);
    const origin = message?.origin;
    const out = stored({ origin });
    expect(messageFields(out, 1)).toBe(origin?.bytes);
    expect(messageOrderingKey(out)).toBe('key');
    expect(messageAttributes(out)).toEqual(new Map([['k', 'v']]));
  });
});

describe('a message of another protocol', () => {
  it('has its tags as attributes, its id and the time it was stored', () => {
    const out = stored({
      id: 'abc',
      tags: new Map([['k', 'v']]),
      origin: { protocol: 'amqp', bytes: new Uint8Array(9) },
    });
    expect(decodeMessageFields(messageFields(out, publishTime))).toEqual({
      messageId: 'abc',
      publishTime,
      orderingKey: '',
      attributes: new Map([['k', 'v']]),
    });
    expect(messageOrderingKey(out)).toBe('');
    expect(messageAttributes(out)).toEqual(new Map([['k', 'v']]));
  });

  it('may carry the reserved tags, which become fields', () => {
    const tags = new Map([
      ['k', 'v'],
      [MESSAGE_ID_TAG, '42'],
      [PUBLISH_TIME_TAG, '2026-01-31T12:00:00.250Z'],
      [ORDERING_KEY_TAG, 'key'],
    ]);
    expect(decodeMessageFields(messageFields(stored({ tags }), 1))).toEqual({
      messageId: '42',
      publishTime,
      orderingKey: 'key',
      attributes: new Map([['k', 'v']]),
    });
    expect(messageOrderingKey(stored({ tags }))).toBe('key');
    const wrong = new Map([[PUBLISH_TIME_TAG, 'yesterday']]);
    expect(decodeMessageFields(messageFields(stored({ tags: wrong }), 7000)).publishTime).toBe(7000);
  });
});
