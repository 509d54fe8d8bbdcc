import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { ByteWriter } from '../base/bytes.js';
import type { ChannelName } from './channel-name.js';
import type { OutgoingMessage } from './message.js';
import { encodeMessage, MessageView, mintedId } from './message-codec.js';

const text = fc.string({ unit: 'grapheme', maxLength: 60 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const outgoing: fc.Arbitrary<OutgoingMessage> = fc.record({
  channel: fc.constant('q' as ChannelName),
  body: fc.uint8Array({ maxLength: 200 }),
  id: maybe(text),
  clientId: maybe(text),
  metadata: maybe(text),
  tags: maybe(
    fc.array(fc.tuple(fc.oneof(text, fc.constant('__proto__')), text)).map((pairs) => new Map(pairs)),
  ),
  priority: maybe(fc.nat(255)),
  policy: maybe(
    fc.record({
      delayMs: fc.nat(),
      expirationMs: fc.nat(),
      maxReceiveCount: fc.nat(),
      maxReceiveQueue: fc.constant('dead' as ChannelName),
    }),
  ),
  origin: maybe(fc.record({ protocol: text, bytes: fc.uint8Array() })),
});

function encode(message: OutgoingMessage): Buffer {
  const w = new ByteWriter(4);
  encodeMessage(w, message, 7, 9);
  return w.buffer.subarray(0, w.length);
}

describe('message codec', () => {
  it('reads back what was written', () => {
    fc.assert(
      fc.property(outgoing, (message) => {
        const view = new MessageView(encode(message), new Map());
        expect(view.id).toBe(message.id ?? mintedId(7, 9));
        expect(view.hasOwnId).toBe(message.id !== undefined);
        expect(view.clientId).toBe(message.clientId ?? '');
        expect(view.metadata).toBe(message.metadata ?? '');
        expect(view.tags).toEqual(message.tags ?? new Map());
        expect(view.priority).toBe(message.priority ?? 0);
        expect(Uint8Array.from(view.body)).toEqual(message.body);
        expect(view.origin?.protocol).toBe(message.origin?.protocol);
        if (message.origin !== undefined)
          expect(Uint8Array.from(view.origin!.bytes)).toEqual(message.origin.bytes);
        for (const [key, value] of Object.entries(message.policy ?? {})) {
          expect(view.policy[key as keyof typeof view.policy]).toBe(value === 0 ? undefined : value);
        }
      }),
    );
  });

  it('never reads damage as a message', () => {
    const bytes = encode({
      channel: 'q' as ChannelName,
      body: Buffer.alloc(0),
      id: 'own',
      metadata: 'm',
      tags: new Map([['a', 'b']]),
    });
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(() => new MessageView(bytes.subarray(0, cut), new Map()).body).toThrow(RangeError);
    }
  });

  it('asks the translator of its origin once, for what the message itself does not say', () => {
    const translator = vi.fn(() => ({
      id: 'theirs',
      metadata: 'm',
      tags: new Map([
        ['a', '1'],
        ['b', '2'],
      ]),
    }));
    const message = {
      channel: 'q' as ChannelName,
      body: Buffer.from('x'),
      origin: { protocol: 'p', bytes: Buffer.from('o') },
    };
    const plain = new MessageView(encode(message), new Map([['p', translator]]));
    expect(plain.body).toHaveLength(1);
    expect(translator).not.toHaveBeenCalled();
    expect([plain.id, plain.hasOwnId, plain.metadata]).toEqual(['theirs', true, 'm']);
    expect(plain.tags).toBe(plain.tags);
    expect(translator).toHaveBeenCalledTimes(1);
    const own = new MessageView(
      encode({ ...message, id: 'own', metadata: 'n', tags: new Map([['b', '3']]) }),
      new Map([['p', translator]]),
    );
    expect([own.id, own.metadata, [...own.tags]]).toEqual([
      'own',
      'n',
      [
        ['a', '1'],
        ['b', '3'],
      ],
    ]);
    const unknown = new MessageView(encode(message), new Map());
    expect([unknown.id, unknown.hasOwnId, unknown.tags.size]).toEqual([mintedId(7, 9), false, 0]);
  });

  it('mints ids that are version 8 UUIDs and never the same', () => {
    const seen = new Set<string>();
    for (const channel of [1, 2, 0xffffffff]) {
      for (const sequence of [1, 2, 0xfff, 2 ** 32, Number.MAX_SAFE_INTEGER])
        seen.add(mintedId(channel, sequence));
    }
    expect(seen.size).toBe(15);
    expect([mintedId(0x1a, 0x12_3456), mintedId(1, 0x12_3456_789a_bcde)]).toEqual([
      '0000001a-0000-8000-8000-000000123456',
      '00000001-0012-8345-8678-0000009abcde',
    ]);
    for (const id of seen)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
