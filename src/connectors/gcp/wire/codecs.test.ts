import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ackId, ackIdLength, ackIdSeed, readAckId } from './ack-id.js';
import {
  ackIdCount,
  ackIdText,
  decodeAcknowledgeRequest,
  decodeModifyAckDeadlineRequest,
  decodePullRequest,
  type AckIdList,
} from './acknowledge.js';
import {
  AcknowledgeRequestSchema,
  ModifyAckDeadlineRequestSchema,
  PublishRequestSchema,
  PublishResponseSchema,
  PubsubMessageSchema,
  PullRequestSchema,
  PullResponseSchema,
  StreamingPullRequestSchema,
  StreamingPullResponseSchema,
} from './gen/google/pubsub/v1/pubsub_pb.js';
import {
  decodeMessageFields,
  encodeMessageFields,
  encodePublishTime,
  messageFieldsLength,
  orderingKeyOf,
  writeMessageFields,
} from './message-fields.js';
import { MalformedMessage } from './protobuf.js';
import { decodePublishRequest, encodePublishResponse } from './publish.js';
import { encodeReceivedMessages, encodeSubscriptionProperties, receivedLength } from './received-messages.js';
import { decodeStreamingPullRequest } from './streaming-pull.js';

// The generated codec is the oracle for the hand-made ones.

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const attributes = fc.dictionary(text, text, { maxKeys: 5 });
const bytes = fc.uint8Array({ maxLength: 300 });
const int32 = fc.integer();

/** A field that no message here has. */
const unknownField = new BinaryWriter().tag(999, WireType.LengthDelimited).string('from the future').finish();

const textOf = (view: Uint8Array): string => Buffer.from(view).toString();
const idsOf = (list: AckIdList): string[] =>
  Array.from({ length: ackIdCount(list) }, (_, i) => ackIdText(list, i));

describe('PublishRequest', () => {
  const message = fc.record({ data: bytes, attributes, orderingKey: text, messageId: text });

  it('is read as the generated codec wrote it', () => {
    fc.assert(
      fc.property(text, fc.array(message, { maxLength: 5 }), (topic, messages) => {
        const encoded = toBinary(PublishRequestSchema, create(PublishRequestSchema, { topic, messages }));
        const view = decodePublishRequest(Buffer.concat([unknownField, encoded, unknownField]));
        expect(view.topic).toBe(topic);
        expect(view.messages).toHaveLength(messages.length);
        view.messages.forEach((read, i) => {
          const sent = messages[i]!;
          expect(Buffer.from(read.data)).toEqual(Buffer.from(sent.data));
          expect(textOf(read.orderingKey)).toBe(sent.orderingKey);
          const pairs = read.attributes.map(({ key, value }) => [textOf(key), textOf(value)]);
          expect(new Map(pairs as [string, string][])).toEqual(new Map(Object.entries(sent.attributes)));
        });
      }),
    );
  });

  it('leaves bodies where they arrived', () => {
    const encoded = toBinary(
      PublishRequestSchema,
      create(PublishRequestSchema, { topic: 't', messages: [{ data: Buffer.alloc(1000) }] }),
    );
    expect(decodePublishRequest(encoded).messages[0]?.data.buffer).toBe(encoded.buffer);
  });

  it('takes the last of a repeated single field, as protobuf says', () => {
    const twice = new BinaryWriter()
      .tag(1, WireType.LengthDelimited)
      .bytes(Uint8Array.of(1))
      .tag(1, WireType.LengthDelimited)
      .bytes(Uint8Array.of(2));
    const request = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(twice.finish()).finish();
    expect(Array.from(decodePublishRequest(request).messages[0]?.data ?? [])).toEqual([2]);
  });

  it('cut anywhere is refused or a shorter message, never a crash', () => {
    const encoded = toBinary(
      PublishRequestSchema,
      create(PublishRequestSchema, {
        topic: 'projects/p/topics/t',
        messages: [{ data: Buffer.from('data'), attributes: { a: 'b' }, orderingKey: 'k' }],
      }),
    );
    for (let end = 0; end < encoded.length; end++) {
      try {
        decodePublishRequest(encoded.subarray(0, end));
      } catch (caught) {
        expect(caught).toBeInstanceOf(MalformedMessage);
      }
    }
  });

  it('with bytes that are no UTF-8 in text is refused', () => {
    const bad = Uint8Array.of(0xff);
    const key = new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(bad).finish();
    const entry = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(bad).finish();
    const attribute = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(entry).finish();
    for (const inner of [key, attribute]) {
      expect(() =>
        decodePublishRequest(new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(inner).finish()),
      ).toThrow(MalformedMessage);
    }
  });

  it('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (garbage) => {
        for (const decode of [
          decodePublishRequest,
          decodeAcknowledgeRequest,
          decodeModifyAckDeadlineRequest,
          decodePullRequest,
          decodeStreamingPullRequest,
        ]) {
          try {
            decode(garbage);
          } catch (caught) {
            expect(caught).toBeInstanceOf(MalformedMessage);
          }
        }
      }),
    );
  });
});

it('PublishResponse is what the generated codec reads', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 17n }).map(String)), (messageIds) => {
      expect(fromBinary(PublishResponseSchema, encodePublishResponse(messageIds)).messageIds).toEqual(
        messageIds,
      );
    }),
  );
});

describe('requests of subscribers', () => {
  const ids = fc.array(text, { maxLength: 20 });

  it('AcknowledgeRequest', () => {
    fc.assert(
      fc.property(text, ids, (subscription, ackIds) => {
        const encoded = toBinary(
          AcknowledgeRequestSchema,
          create(AcknowledgeRequestSchema, { subscription, ackIds }),
        );
        const view = decodeAcknowledgeRequest(Buffer.concat([encoded, unknownField]));
        expect(view.subscription).toBe(subscription);
        expect(idsOf(view.ackIds)).toEqual(ackIds);
      }),
    );
  });

  it('ModifyAckDeadlineRequest', () => {
    fc.assert(
      fc.property(text, ids, int32, (subscription, ackIds, ackDeadlineSeconds) => {
        const encoded = toBinary(
          ModifyAckDeadlineRequestSchema,
          create(ModifyAckDeadlineRequestSchema, { subscription, ackIds, ackDeadlineSeconds }),
        );
        const view = decodeModifyAckDeadlineRequest(Buffer.concat([unknownField, encoded]));
        expect(view.subscription).toBe(subscription);
        expect(view.ackDeadlineSeconds).toBe(ackDeadlineSeconds);
        expect(idsOf(view.ackIds)).toEqual(ackIds);
      }),
    );
  });

  it('PullRequest', () => {
    fc.assert(
      fc.property(text, fc.boolean(), int32, (subscription, returnImmediately, maxMessages) => {
        const encoded = toBinary(
          PullRequestSchema,
          create(PullRequestSchema, { subscription, returnImmediately, maxMessages }),
        );
        const view = decodePullRequest(Buffer.concat([encoded, unknownField]));
        expect(view).toEqual({ subscription, returnImmediately, maxMessages });
      }),
    );
  });

  it('StreamingPullRequest', () => {
    const int64 = fc.maxSafeInteger();
    fc.assert(
      fc.property(
        fc.record({
          subscription: text,
          ackIds: ids,
          modifyDeadlineSeconds: fc.array(int32, { maxLength: 20 }),
          modifyDeadlineAckIds: ids,
          streamAckDeadlineSeconds: int32,
          clientId: text,
        }),
        fc.record({ maxOutstandingMessages: int64, maxOutstandingBytes: int64, protocolVersion: int64 }),
        (fields, numbers) => {
          const encoded = toBinary(
            StreamingPullRequestSchema,
            create(StreamingPullRequestSchema, {
              ...fields,
              maxOutstandingMessages: BigInt(numbers.maxOutstandingMessages),
              maxOutstandingBytes: BigInt(numbers.maxOutstandingBytes),
              protocolVersion: BigInt(numbers.protocolVersion),
            }),
          );
          const view = decodeStreamingPullRequest(Buffer.concat([unknownField, encoded]));
          expect({
            ...view,
            ackIds: idsOf(view.ackIds),
            modifyDeadlineAckIds: idsOf(view.modifyDeadlineAckIds),
          }).toEqual({ ...fields, ...numbers });
        },
      ),
    );
  });

  it('StreamingPullRequest with unpacked deadlines', () => {
    const unpacked = new BinaryWriter()
      .tag(3, WireType.Varint)
      .int32(10)
      .tag(3, WireType.Varint)
      .int32(0)
      .finish();
    expect(decodeStreamingPullRequest(unpacked).modifyDeadlineSeconds).toEqual([10, 0]);
  });
});

describe('received messages', () => {
  const token = fc.record({
    suffix: fc.oneof(
      fc.constant(''),
      fc.string({ minLength: 1, maxLength: 30 }).map((key) => `.k.${key}`),
    ),
    sequence: fc.nat(2 ** 48 - 1),
    attempt: fc.nat(2 ** 32 - 1),
  });
  const fields = fc.record({
    messageId: fc.string({ minLength: 1, maxLength: 20 }),
    publishTime: fc.nat(4_000_000_000_000),
    orderingKey: text,
    attributes: attributes.map((all) => new Map(Object.entries(all))),
  });
  const parts = fc.record({ token, data: bytes, fields, deliveryAttempt: fc.nat(200) });

  it('are what the generated codec reads, in both responses', () => {
    const seed = ackIdSeed('s');
    fc.assert(
      fc.property(
        fc.array(parts, { maxLength: 6 }),
        fc.boolean(),
        fc.boolean(),
        (messages, once, ordered) => {
          const encodedParts = messages.map((each) => ({
            ...each,
            fields: encodeMessageFields(each.fields),
          }));
          const trailer = encodeSubscriptionProperties(once, ordered);
          const encoded = encodeReceivedMessages(encodedParts, seed, trailer);
          const sizes = encodedParts.reduce((sum, part) => sum + receivedLength(part), trailer.length);
          expect(encoded).toHaveLength(sizes);
          const response = fromBinary(StreamingPullResponseSchema, encoded);
          expect(response.subscriptionProperties).toMatchObject({
            exactlyOnceDeliveryEnabled: once,
            messageOrderingEnabled: ordered,
          });
          expect(response.receivedMessages).toHaveLength(messages.length);
          response.receivedMessages.forEach((received, i) => {
            const sent = messages[i]!;
            expect(received.ackId).toBe(ackId(seed, sent.token));
            expect(received.deliveryAttempt).toBe(sent.deliveryAttempt);
            expect(Buffer.from(received.message!.data)).toEqual(Buffer.from(sent.data));
            expect(received.message!.messageId).toBe(sent.fields.messageId);
            expect(received.message!.orderingKey).toBe(sent.fields.orderingKey);
            expect(new Map(Object.entries(received.message!.attributes))).toEqual(sent.fields.attributes);
            const time = received.message!.publishTime!;
            expect(Number(time.seconds) * 1000 + time.nanos / 1e6).toBe(sent.fields.publishTime);
          });
          const pulled = fromBinary(
            PullResponseSchema,
            encodeReceivedMessages(encodedParts, seed, new Uint8Array(0)),
          );
          expect(pulled.receivedMessages).toHaveLength(messages.length);
        },
      ),
    );
  });

  it('keep their fields through the store', () => {
    fc.assert(
      fc.property(fields, (sent) => {
        const encoded = encodeMessageFields(sent);
        expect(decodeMessageFields(encoded)).toEqual(sent);
        expect(orderingKeyOf(encoded)).toBe(sent.orderingKey);
        expect(fromBinary(PubsubMessageSchema, encoded).messageId).toBe(sent.messageId);
      }),
    );
  });

  it('are written in place as they are written from text', () => {
    fc.assert(
      fc.property(fields, (sent) => {
        const request = create(PublishRequestSchema, {
          messages: [{ attributes: Object.fromEntries(sent.attributes), orderingKey: sent.orderingKey }],
        });
        const read = decodePublishRequest(toBinary(PublishRequestSchema, request)).messages[0]!;
        const publishTime = encodePublishTime(sent.publishTime);
        const rest = read.attributes.reduce((sum, { field }) => sum + field.length, publishTime.length);
        const length = messageFieldsLength(read.orderingKey.length, sent.messageId.length, rest);
        const out = Buffer.alloc(length + 1);
        const end = writeMessageFields(out, 1, { ...read, messageId: sent.messageId, publishTime });
        expect(end).toBe(out.length);
        expect(decodeMessageFields(out.subarray(1))).toEqual({
          ...sent,
          attributes: new Map(Object.entries(request.messages[0]!.attributes)),
        });
      }),
    );
  });
});

describe('ack ids', () => {
  const token = fc.record({
    suffix: fc.oneof(
      fc.constant(''),
      text.filter((value) => value !== ''),
    ),
    sequence: fc.nat(2 ** 48 - 1),
    attempt: fc.nat(2 ** 32 - 1),
  });
  const read = (id: string, seed: number) => readAckId(Buffer.from(id), 0, Buffer.byteLength(id), seed);

  it('are read back, within another text too', () => {
    fc.assert(
      fc.property(token, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (sent, seed) => {
        const id = ackId(seed, sent);
        expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(id).toHaveLength(ackIdLength(sent.suffix));
        const within = Buffer.from(`xx${id}yy`);
        expect(readAckId(within, 2, 2 + id.length, seed)).toEqual(sent);
      }),
    );
  });

  it('are short, and differ for each delivery', () => {
    const seed = ackIdSeed('projects/p/subscriptions/s');
    expect(ackId(seed, { suffix: '', sequence: 1, attempt: 1 })).toHaveLength(20);
    expect(ackIdLength('x'.repeat(120))).toBeLessThanOrEqual(200);
    const ids = [1, 2].flatMap((sequence) =>
      [1, 2].map((attempt) => ackId(seed, { suffix: '', sequence, attempt })),
    );
    expect(new Set(ids).size).toBe(4);
  });

  it('of another subscription, or with any character changed, are refused', () => {
    const seed = ackIdSeed('s1');
    for (const suffix of ['', '.k.customer-7']) {
      const id = ackId(seed, { suffix, sequence: 123456, attempt: 3 });
      expect(read(id, ackIdSeed('s2'))).toBeUndefined();
      for (let i = 0; i < id.length; i++) {
        const other = id[i] === 'A' ? 'B' : 'A';
        expect(read(id.slice(0, i) + other + id.slice(i + 1), seed)).toBeUndefined();
        expect(read(id.slice(0, i), seed)).toBeUndefined();
      }
      for (const tail of ['A', 'AA', 'AAAA', '=', '.']) expect(read(id + tail, seed)).toBeUndefined();
    }
  });

  it.each(['', 'garbage', 'projects/p/subscriptions/s:1', 'é'.repeat(20), 'A'.repeat(20), 'A'.repeat(5000)])(
    'garbage %# is refused',
    (garbage) => {
      expect(read(garbage, 1)).toBeUndefined();
    },
  );
});
