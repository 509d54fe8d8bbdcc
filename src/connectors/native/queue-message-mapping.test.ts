import { describe, expect, it } from 'vitest';
import { ByteWriter } from '../../base/bytes.js';
import type { ChannelName } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import { encodeMessage, MessageView } from '../../core/message-codec.js';
import type { StoredMessage } from '../../core/message.js';
import {
  deliveredQueueMessage,
  deliveredQueueMessages,
  outgoingQueueMessage,
  sendResult,
} from './queue-message-mapping.js';
import { QueueMessage, type OutgoingQueueMessage } from './wire/messages.js';

const body = Buffer.from([0, 255, 1]);

function sent(value: Parameters<typeof QueueMessage.encode>[0]) {
  return outgoingQueueMessage(
    QueueMessage.decode(QueueMessage.encode({ clientId: 'c', channel: 'q', body, ...value })),
  );
}

describe('a message on its way in', () => {
  it('keeps every part', () => {
    const tags = new Map([['k', 'v']]);
    expect(sent({ messageId: 'm', metadata: 'meta', tags })).toMatchObject({
      channel: 'q',
      id: 'm',
      clientId: 'c',
      metadata: 'meta',
      tags,
      policy: undefined,
    });
    expect(Buffer.from(sent({}).body)).toEqual(body);
  });

  it('discards the attributes a client sends', () => {
    expect(sent({ attributes: { sequence: 9, receiveCount: 7 } })).not.toHaveProperty('sequence');
  });

  it.each([
    [{ delaySeconds: 2 }, { delayMs: 2000 }],
    [{ expirationSeconds: 3 }, { expirationMs: 3000 }],
    [{ maxReceiveCount: 4 }, { maxReceiveCount: 4 }],
    [
      { maxReceiveCount: 4, maxReceiveQueue: 'd' },
      { maxReceiveCount: 4, maxReceiveQueue: 'd' },
    ],
    [{ maxReceiveQueue: 'd' }, { maxReceiveCount: 1024, maxReceiveQueue: 'd' }],
    [{}, {}],
  ])('policy %j', (policy, expected) => {
    expect(sent({ policy }).policy).toEqual(expected);
  });
});

describe('the result of a send', () => {
  const message = QueueMessage.decode(QueueMessage.encode({ messageId: 'm', channel: 'q' }));

  it('gives times in nanoseconds, 0 for none', () => {
    const outcome = {
      ok: true,
      channel: 'q' as ChannelName,
      id: 'm',
      sequence: 1,
      enqueuedAt: 1_700_000_000_123,
      expiresAt: 0,
      delayedTo: 1_700_000_001_123,
      duplicate: false,
    } as const;
    expect(sendResult(message, outcome)).toEqual({
      messageId: 'm',
      sentAt: 1_700_000_000_123_000_000n,
      expirationAt: 0n,
      delayedTo: 1_700_000_001_123_000_000n,
      refChannel: 'q',
    });
  });

  it('says why a message was refused', () => {
    expect(sendResult(message, { ok: false, error: new BrokerError('limit', 'full') })).toMatchObject({
      messageId: 'm',
      isError: true,
      error: 'full',
    });
  });
});

/** Its fields, as a plain value. */
function fieldsOf(message: OutgoingQueueMessage): OutgoingQueueMessage {
  const { messageId, clientId, channel, metadata, body, tags, attributes, policy } = message;
  return { messageId, clientId, channel, metadata, body, tags, attributes, policy };
}

describe('a message on its way out', () => {
  const message: StoredMessage = {
    id: 'm',
    hasOwnId: true,
    clientId: 'c',
    metadata: 'meta',
    tags: new Map([['k', 'v']]),
    body: Buffer.from('hello'),
    policy: { expirationMs: 1500, maxReceiveCount: 2, maxReceiveQueue: 'd' as ChannelName },
    priority: 0,
    origin: undefined,
  };
  const seen = {
    message,
    sequence: 5,
    enqueuedAt: 1_700_000_000_001,
    receiveCount: 2,
    expiresAt: 1_700_000_001_501,
    delayedTo: 0,
    reRoutedFrom: '',
  };

  it('is the same among others as alone', () => {
    const all = ['a', '', 'c'.repeat(20_000), 'd'].map((text, place) => ({
      ...seen,
      sequence: place + 1,
      enqueuedAt: seen.enqueuedAt + (place % 2),
      message: { ...message, body: Buffer.from(text), policy: place === 3 ? {} : message.policy },
    }));
    const alone = all.map((each) => deliveredQueueMessage(each, `to-${each.sequence}`, each.sequence * 2));
    const together = deliveredQueueMessages(
      all,
      ({ sequence }) => `to-${sequence}`,
      ({ sequence }) => sequence * 2,
    );
    expect(together.map(fieldsOf)).toEqual(alone.map(fieldsOf));
    expect(new Set(together.map(({ attributes }) => attributes?.md5OfBody)).size).toBe(all.length);
  });

  it('shows all there is to know', () => {
    expect(fieldsOf(deliveredQueueMessage(seen, 'name'))).toEqual({
      messageId: 'm',
      clientId: 'c',
      channel: 'name',
      metadata: 'meta',
      body: message.body,
      tags: message.tags,
      attributes: {
        timestamp: 1_700_000_000_001_000_000n,
        sequence: 5,
        md5OfBody: '5d41402abc4b2a76b9719d911017c592',
        receiveCount: 2,
        reRouted: false,
        reRoutedFromQueue: '',
        expirationAt: 1_700_000_001_501_000_000n,
        delayedTo: 0n,
      },
      policy: { expirationSeconds: 2, delaySeconds: 0, maxReceiveCount: 2, maxReceiveQueue: 'd' },
    });
  });

  it('shows where it was dead-lettered from, and no policy any more', () => {
    expect(deliveredQueueMessage({ ...seen, reRoutedFrom: 'old' }, 'name')).toMatchObject({
      attributes: { reRouted: true, reRoutedFromQueue: 'old' },
      policy: {},
    });
  });

  it('writes itself as its fields are written', () => {
    const writer = new ByteWriter(64);
    const minted = (w: ByteWriter, sequence: number): MessageView => {
      w.length = 0;
      encodeMessage(
        w,
        { channel: 'q' as ChannelName, clientId: 'klïent', body: Buffer.from('b') },
        77,
        sequence,
      );
      return new MessageView(Buffer.from(w.buffer.subarray(0, w.length)), new Map());
    };
    const foreign = {
      ...message,
      id: 'ü'.repeat(90),
      clientId: '',
      tags: new Map(),
      metadata: '',
      policy: {},
    };
    const messages = [
      message,
      { ...message, body: Buffer.alloc(0), metadata: 'm'.repeat(300) },
      foreign,
      minted(writer, 5),
      minted(writer, 2 ** 30 + 7),
      minted(writer, 2 ** 24 - 1),
      message,
    ];
    const all = messages.flatMap((one, place) => [
      { ...seen, message: one, sequence: place + 1 },
      {
        ...seen,
        message: one,
        reRoutedFrom: 'elsewhere',
        delayedTo: 9,
        enqueuedAt: 1 + place,
        receiveCount: 300,
      },
    ]);
    const delivered = deliveredQueueMessages(
      all,
      ({ sequence }) => (sequence === 3 ? 'ch.ä' : 'ch'),
      ({ sequence }) => sequence,
    );
    for (const each of delivered)
      expect(QueueMessage.encode(each)).toEqual(QueueMessage.encode(fieldsOf(each)));
    expect(delivered[6]?.messageId).toBe('0000004d-0000-8000-8000-000000000005');
  });

  it('may show a stand-in for its sequence', () => {
    expect(deliveredQueueMessage(seen, 'name', 99).attributes?.sequence).toBe(99);
  });
});
