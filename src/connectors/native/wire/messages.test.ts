import { fileURLToPath } from 'node:url';
import { loadSync, type MessageTypeDefinition, type MethodDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as messages from './messages.js';
import { message, type Fields, type MessageType } from './protobuf.js';
import { WireError } from './varint.js';

/** Protobuf.js reading the contract's own text is the oracle: what it writes we read, what we write it reads. */
const definition = loadSync(fileURLToPath(new URL('./kubemq.proto', import.meta.url)), {
  keepCase: true,
  longs: String,
  enums: Number,
  defaults: true,
  bytes: Buffer,
});
type Method = MethodDefinition<object, object>;
const service = definition['kubemq.kubemq'] as unknown as Readonly<Record<string, Method>>;

interface FieldDescriptor {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly typeName: string;
}
interface Descriptor {
  readonly field: readonly FieldDescriptor[];
  readonly nestedType: readonly {
    readonly name: string;
    readonly options?: { readonly mapEntry?: boolean };
  }[];
}

function descriptorOf(typeName: string): Descriptor {
  return (definition[`kubemq.${typeName}`] as MessageTypeDefinition<object, object>).type as Descriptor;
}

/** Whether this 64-bit field is held as a number here. */
const EXACT_64 = /^(Timestamp|ExpirationAt|DelayedTo|SentAt|EventsStoreTypeValue)$/;

function arbitraryOf(typeName: string): fc.Arbitrary<object> {
  const descriptor = descriptorOf(typeName);
  const fields = Object.fromEntries(
    descriptor.field.map((field) => [field.name, arbitraryField(descriptor, field)]),
  );
  return fc.record(fields, { requiredKeys: [] });
}

function arbitraryField(owner: Descriptor, field: FieldDescriptor): fc.Arbitrary<unknown> {
  if (
    owner.nestedType.some((type) => field.typeName.endsWith(type.name) && type.options?.mapEntry === true)
  ) {
    return fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), { maxKeys: 4 });
  }
  const one = arbitraryValue(field);
  return field.label === 'LABEL_REPEATED' ? fc.array(one, { maxLength: 4 }) : one;
}

function arbitraryValue(field: FieldDescriptor): fc.Arbitrary<unknown> {
  const safe = fc.maxSafeInteger().map(String);
  switch (field.type) {
    case 'TYPE_STRING':
      return fc.string({ unit: 'grapheme' });
    case 'TYPE_BYTES':
      return fc.uint8Array().map((bytes) => Buffer.from(bytes));
    case 'TYPE_BOOL':
      return fc.boolean();
    case 'TYPE_INT32':
      return fc.integer();
    case 'TYPE_INT64':
      return EXACT_64.test(field.name)
        ? fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)
        : safe;
    case 'TYPE_UINT64':
      return fc.maxSafeNat().map(String);
    case 'TYPE_ENUM':
      return fc.integer({ min: 0, max: 4 });
    default:
      return arbitraryOf(field.typeName.replace(/^.*\./, ''));
  }
}

/** What something gives, or the error it throws. */
function outcomeOf<T>(run: () => T): T | Error {
  try {
    return run();
  } catch (caught) {
    return caught as Error;
  }
}

interface Case {
  readonly typeName: string;
  readonly encode: (value: object) => Buffer;
  readonly decode: (bytes: Buffer) => object;
  readonly ours: MessageType<Fields>;
}

const cases = new Map<string, Case>();
for (const method of Object.values(service)) {
  const request = method.requestType as unknown as { type: { name: string } };
  const response = method.responseType as unknown as { type: { name: string } };
  for (const [typeName, encode, decode] of [
    [request.type.name, method.requestSerialize, method.requestDeserialize],
    [response.type.name, method.responseSerialize, method.responseDeserialize],
  ] as const) {
    const ours = (messages as unknown as Record<string, MessageType<Fields> | undefined>)[typeName];
    if (ours === undefined) throw new Error(`no message ${typeName}`);
    cases.set(typeName, { typeName, encode, decode, ours });
  }
}

describe('messages of the contract, against protobuf.js', () => {
  it('covers every message a method takes or gives', () => {
    expect(cases.size).toBe(24);
  });

  it.each([...cases.values()].map((each) => [each.typeName, each] as const))(
    '%s survives both directions',
    (typeName, { encode, decode, ours }) => {
      fc.assert(
        fc.property(arbitraryOf(typeName), (value) => {
          const theirs = encode(value);
          const back = ours.encode(ours.decode(theirs));
          expect(decode(back)).toEqual(decode(theirs));
        }),
        { numRuns: 200 },
      );
    },
  );

  it('reads any bytes as a message or refuses them, and never hangs or reads beyond them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const { ours } of cases.values()) {
          try {
            ours.decode(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(WireError);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each(['QueueMessage', 'SendQueueMessageResult'] as const)(
    'writes and reads %s by hand as it is declared',
    (typeName) => {
      const ours = messages[typeName] as unknown as MessageType<Fields>;
      const declared = message(ours.fields);
      const { serialize } = definition[`kubemq.${typeName}`] as MessageTypeDefinition<object, object>;
      fc.assert(
        fc.property(arbitraryOf(typeName), fc.uint8Array({ maxLength: 40 }), (value, noise) => {
          const bytes = Buffer.concat([serialize(value), noise]);
          const wanted = outcomeOf(() => declared.decode(bytes));
          expect(outcomeOf(() => ours.decode(bytes))).toEqual(wanted);
          if (wanted instanceof Error) return;
          expect(ours.encode(wanted).equals(declared.encode(wanted))).toBe(true);
        }),
        { numRuns: 500 },
      );
    },
  );

  it('lends what it encodes until the next message, however large it is', () => {
    const body = (length: number) => Buffer.alloc(length, length);
    for (const length of [1, 70_000, 3_000_000, 5, 200_000]) {
      const tags = new Map([['k', 'é'.repeat(40)]]);
      const lent = messages.Event.lend({ body: body(length), tags });
      const kept = messages.Event.encode({ body: body(length), tags });
      messages.Event.encode({ body: body(100) });
      const decoded = messages.Event.decode(kept);
      expect(Buffer.from(decoded.body).equals(body(length))).toBe(true);
      expect(decoded.tags).toEqual(tags);
      expect(lent.length).toBe(kept.length);
    }
  });

  it('refuses a message cut anywhere within a field', () => {
    const whole = messages.QueueMessage.encode({
      messageId: 'id-1',
      tags: new Map([['k', 'v']]),
      body: Buffer.from('body'),
      attributes: { timestamp: 1_700_000_000_123_456_789n, sequence: 2 ** 50 },
    });
    const ends = new Set<number>([0, 6, 12, 20, whole.length]);
    for (let length = 0; length < whole.length; length++) {
      const cut = whole.subarray(0, length);
      if (ends.has(length)) expect(() => messages.QueueMessage.decode(cut)).not.toThrow();
      else expect(() => messages.QueueMessage.decode(cut), String(length)).toThrow(WireError);
    }
  });
});

describe('messages', () => {
  it('keep nanoseconds exactly', () => {
    const decoded = messages.EventReceive.decode(
      messages.EventReceive.encode({ timestamp: 1_700_000_000_123_456_789n }),
    );
    expect(decoded.timestamp).toBe(1_700_000_000_123_456_789n);
  });

  it('keep a tag named __proto__', () => {
    const tags = new Map([['__proto__', 'x']]);
    expect(messages.Event.decode(messages.Event.encode({ tags })).tags).toEqual(tags);
  });

  it('show the body as a view of the input', () => {
    const bytes = messages.Event.encode({ body: Buffer.from('hello') });
    expect(messages.Event.decode(bytes).body.buffer).toBe(bytes.buffer);
  });

  it('refuse text that is not UTF-8 but keep a real U+FFFD', () => {
    expect(() => messages.PingResult.decode(Buffer.from([0x0a, 0x01, 0xff]))).toThrow(WireError);
    const text = messages.PingResult.encode({ host: 'a\ufffdb' });
    expect(messages.PingResult.decode(text).host).toBe('a\ufffdb');
  });

  it('accept lists packed and one by one, mixed', () => {
    // Field 9: packed [1, 300], then 2 alone.
    const bytes = Buffer.from([0x4a, 0x03, 0x01, 0xac, 0x02, 0x48, 0x02]);
    expect(messages.QueuesDownstreamRequest.decode(bytes).sequenceRange).toEqual([1, 300, 2]);
  });

  it('merge a nested message that comes twice, and step over unknown fields', () => {
    const first = messages.QueueMessage.encode({ policy: { delaySeconds: 3 } });
    const second = messages.QueueMessage.encode({ policy: { expirationSeconds: 4 } });
    const unknown = Buffer.from([0xf8, 0x07, 0x05, 0xfa, 0x07, 0x01, 0x00, 0xfd, 0x07, 1, 2, 3, 4]);
    const decoded = messages.QueueMessage.decode(Buffer.concat([first, unknown, second]));
    expect(decoded.policy).toMatchObject({ delaySeconds: 3, expirationSeconds: 4 });
  });
});
