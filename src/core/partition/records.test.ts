import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteWriter } from '../../base/bytes.js';
import type { ChannelName } from '../channel-name.js';
import { encodeMessage } from '../message-codec.js';
import { blankArrival } from '../queue/arrival.js';
import type { RecordVisitor } from './records.js';
import {
  RecordType,
  visitRecords,
  writeArrival,
  writeGiveBack,
  writeOpenChannel,
  writeSequences,
} from './records.js';

const METHODS = [
  ...[
    'openChannel',
    'channelSettings',
    'deleteChannel',
    'send',
    'deliver',
    'remove',
    'giveBack',
    'extend',
    'transfer',
  ],
  ...[
    'purge',
    'logAppend',
    'cursor',
    'logTrim',
    'registryPut',
    'registryRemove',
    'aliasSet',
    'aliasRemove',
    'relocate',
    'stage',
    'rewound',
  ],
] as const;

/** Writes what a visitor was told down, as plain data. */
function told(payload: Uint8Array, position: number): unknown[] {
  const seen: unknown[] = [];
  const plain = (value: unknown): unknown => (value instanceof Uint8Array ? [...value] : value);
  const visitor = Object.fromEntries(
    METHODS.map((name) => [name, (...args: unknown[]) => seen.push([name, ...args.map(plain)])]),
  );
  visitRecords(position, payload, visitor as unknown as RecordVisitor);
  return seen;
}

const id = fc.nat({ max: 0xffffffff });
const big = fc.maxSafeNat();
const text = fc.string({ unit: 'grapheme', maxLength: 30 });
const sequences = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 20 });
const arrival = fc.record({
  queue: id,
  sequence: big,
  enqueuedAt: big,
  expiresAt: big,
  delayedTo: big,
  priority: fc.nat(255),
  maxReceiveCount: fc.nat(),
  dedupId: text,
  reRoutedFrom: text,
  maxReceiveQueue: fc.constant(''),
});

interface Case {
  readonly write: (w: ByteWriter) => void;
  /** What is told, given the position of the payload and the offset of the record in it. */
  readonly told: (position: number, offset: number) => unknown[];
}

const POSITION = 1000;

/** A stored message with everything that stands before a body. */
function stored(body: Uint8Array): Uint8Array {
  const w = new ByteWriter();
  const origin = { protocol: 'test', bytes: Uint8Array.of(1, 2, 3) };
  encodeMessage(w, { channel: 'q' as ChannelName, body, tags: new Map([['k', 'v']]), origin }, 1, 1);
  return Uint8Array.from(w.buffer.subarray(0, w.length));
}

/** The entry begins with it: copies refer to it. */
const COPIED = stored(Uint8Array.of(7, 7, 7));
const COPIED_AT = 1 + 8 + 4;
const COPIED_STORED = { length: COPIED.length, bodyBytes: 3 };

function beginWithCopied(w: ByteWriter): void {
  w.u8(RecordType.relocate);
  w.u64(1);
  w.u32(COPIED.length);
  w.bytes(COPIED);
}

const cases: fc.Arbitrary<Case>[] = [
  fc.record({ id, kind: fc.nat(2), name: text, baseId: id, settings: text }).map((c) => ({
    write: (w) => writeOpenChannel(w, c),
    told: () => ['openChannel', c],
  })),
  fc.tuple(id, text).map(([channel, settings]) => ({
    write: (w) => {
      w.u8(RecordType.channelSettings);
      w.u32(channel);
      w.text(settings);
    },
    told: () => ['channelSettings', channel, settings],
  })),
  id.map((channel) => ({
    write: (w) => {
      w.u8(RecordType.deleteChannel);
      w.u32(channel);
    },
    told: () => ['deleteChannel', channel],
  })),
  fc.tuple(id, big, big, sequences).map(([queue, at, ends, list]) => ({
    write: (w) => {
      w.u8(RecordType.deliver);
      w.u32(queue);
      w.u64(at);
      w.u64(ends);
      writeSequences(w, list);
    },
    told: () => ['deliver', queue, at, ends, list],
  })),
  fc.tuple(id, sequences).map(([queue, list]) => ({
    write: (w) => {
      w.u8(RecordType.remove);
      w.u32(queue);
      writeSequences(w, list);
    },
    told: () => ['remove', queue, list],
  })),
  fc
    .record({ queue: id, newSequence: big, delayedTo: big, uncounted: fc.boolean(), sequences })
    .map((back) => ({ write: (w) => writeGiveBack(w, back), told: () => ['giveBack', back] })),
  fc.tuple(id, big, sequences).map(([queue, ends, list]) => ({
    write: (w) => {
      w.u8(RecordType.extend);
      w.u32(queue);
      w.u64(ends);
      writeSequences(w, list);
    },
    told: () => ['extend', queue, ends, list],
  })),
  fc.tuple(id, big, arrival).map(([queue, sequence, to]) => ({
    write: (w) => {
      w.u8(RecordType.transfer);
      w.u32(queue);
      w.u64(sequence);
      writeArrival(w, to);
    },
    told: () => ['transfer', queue, sequence, to],
  })),
  fc.tuple(id, fc.nat(7), big, big).map(([queue, scope, below, at]) => ({
    write: (w) => {
      w.u8(RecordType.purge);
      w.u32(queue);
      w.u8(scope);
      w.u64(below);
      w.u64(at);
    },
    told: () => ['purge', queue, scope, below, at],
  })),
  fc.tuple(id, text, big).map(([log, name, sequence]) => ({
    write: (w) => {
      w.u8(RecordType.cursor);
      w.u32(log);
      w.text(name);
      w.u64(sequence);
    },
    told: () => ['cursor', log, name, sequence],
  })),
  fc.tuple(id, big).map(([log, sequence]) => ({
    write: (w) => {
      w.u8(RecordType.logTrim);
      w.u32(log);
      w.u64(sequence);
    },
    told: () => ['logTrim', log, sequence],
  })),
  fc.tuple(text, text, fc.nat(), text).map(([kind, key, version, json]) => ({
    write: (w) => {
      w.u8(RecordType.registryPut);
      w.text(kind);
      w.text(key);
      w.varint(version);
      w.text(json);
    },
    told: () => ['registryPut', kind, key, version, json],
  })),
  fc
    .tuple(fc.constantFrom('registryRemove' as const, 'aliasSet' as const), text, text)
    .map(([type, a, b]) => ({
      write: (w) => {
        w.u8(RecordType[type]);
        w.text(a);
        w.text(b);
      },
      told: () => [type, a, b],
    })),
  text.map((alias) => ({
    write: (w) => {
      w.u8(RecordType.aliasRemove);
      w.text(alias);
    },
    told: () => ['aliasRemove', alias],
  })),
  fc.tuple(arrival, fc.uint8Array()).map(([a, body]): Case => {
    const bytes = stored(body);
    const { length } = bytes;
    return {
      write: (w) => {
        w.u8(RecordType.send);
        writeArrival(w, a);
        w.u32(length);
        w.bytes(bytes);
      },
      told: (position, end) => [
        'send',
        a,
        position + end - length,
        { length, bodyBytes: body.length },
        [...bytes],
      ],
    };
  }),
  arrival.map((a) => ({
    write: (w) => {
      w.u8(RecordType.copy);
      writeArrival(w, a);
      w.u32(COPIED_AT);
      w.u32(COPIED.length);
    },
    told: (position) => ['send', a, position + COPIED_AT, COPIED_STORED, undefined],
  })),
  fc.tuple(id, big, big, fc.uint8Array()).map(([log, sequence, storedAt, bytes]) => ({
    write: (w) => {
      w.u8(RecordType.logAppend);
      w.u32(log);
      w.u64(sequence);
      w.u64(storedAt);
      w.u32(bytes.length);
      w.bytes(bytes);
    },
    told: (position, end) => [
      'logAppend',
      { log, sequence, storedAt, position: position + end - bytes.length, length: bytes.length },
    ],
  })),
  fc.tuple(arrival, big, fc.nat(500)).map(([a, at, length]) => ({
    write: (w) => {
      w.u8(RecordType.reference);
      writeArrival(w, a);
      w.u64(at);
      w.u32(length);
    },
    told: () => ['send', a, at, { length, bodyBytes: length }, undefined],
  })),
  fc.tuple(id, big, big).map(([queue, sequence, enqueuedAt]) => ({
    write: (w) => {
      w.u8(RecordType.copies);
      w.u32(queue);
      w.u64(sequence);
      w.u64(enqueuedAt);
      w.u32(1);
      w.u32(COPIED_AT);
      w.u32(COPIED.length);
    },
    told: (position) => [
      'send',
      { ...blankArrival(), queue, sequence, enqueuedAt },
      position + COPIED_AT,
      COPIED_STORED,
      undefined,
    ],
  })),
  fc.tuple(arrival, big, id, id).map(([a, at, length, bodyBytes]) => ({
    write: (w) => {
      w.u8(RecordType.stage);
      writeArrival(w, a);
      w.u64(at);
      w.u32(length);
      w.u32(bodyBytes);
    },
    told: () => ['stage', a, at, { length, bodyBytes }],
  })),
  fc.tuple(id, big).map(([queue, first]) => ({
    write: (w) => {
      w.u8(RecordType.rewound);
      w.u32(queue);
      w.u64(first);
    },
    told: () => ['rewound', queue, first],
  })),
  fc.tuple(big, fc.uint8Array()).map(([from, bytes]) => ({
    write: (w) => {
      w.u8(RecordType.relocate);
      w.u64(from);
      w.u32(bytes.length);
      w.bytes(bytes);
    },
    told: (position, end) => ['relocate', from, position + end - bytes.length, bytes.length],
  })),
];

describe('records', () => {
  it('of every kind are read back, one after the other', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(...cases), { maxLength: 20 }), (records) => {
        const w = new ByteWriter();
        beginWithCopied(w);
        const expected: unknown[] = [['relocate', 1, POSITION + COPIED_AT, COPIED.length]];
        for (const { write, told: tell } of records) {
          write(w);
          expected.push(tell(POSITION, w.length));
        }
        const payload = Uint8Array.from(w.buffer.subarray(0, w.length));
        expect(told(payload, POSITION)).toEqual(expected);
      }),
    );
  });

  it('that are cut or unknown are refused', () => {
    fc.assert(
      fc.property(fc.oneof(...cases), fc.nat(), ({ write }, cut) => {
        const w = new ByteWriter();
        write(w);
        const length = 1 + (cut % Math.max(1, w.length - 1));
        if (length < w.length) expect(() => told(w.buffer.subarray(0, length), 0)).toThrow(RangeError);
      }),
    );
    expect(() => told(Uint8Array.from([200]), 0)).toThrow('unknown record type 200');
  });
});
