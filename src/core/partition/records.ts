import type { ByteWriter } from '../../base/bytes.js';
import { ByteReader } from '../../base/bytes.js';
import { bodyBytesAt } from '../message-codec.js';
import type { Stored } from '../queue/message-table.js';

/*
 * What an entry's payload holds: records, one after the other. Each is an effect that happened, with every choice already made
 * (sequences, times, targets), so that replaying them needs no clock, no settings and no policy.
 */
export const RecordType = {
  openChannel: 1,
  channelSettings: 2,
  deleteChannel: 3,
  send: 4,
  deliver: 5,
  remove: 6,
  giveBack: 7,
  extend: 8,
  transfer: 9,
  purge: 10,
  logAppend: 11,
  copy: 12,
  cursor: 13,
  logTrim: 14,
  registryPut: 15,
  registryRemove: 16,
  aliasSet: 17,
  aliasRemove: 18,
  relocate: 19,
  copies: 20,
  /** What a rewind wrote before it went in slices; read, not written any more. */
  reference: 21,
  stage: 22,
  rewound: 23,
} as const;

export const ChannelKind = { queue: 1, log: 2 } as const;

/** Flags of send, copy and transfer records: which optional fields follow, in this order. */
const HAS_EXPIRY = 1;
const HAS_DELAY = 2;
const HAS_PRIORITY = 4;
const HAS_LIMIT = 8;
const HAS_DEDUP = 16;
const HAS_SOURCE = 32;

/** How a message enters a queue. Times are Unix ms; 0 or '' = none. */
export interface Arrival {
  readonly queue: number;
  readonly sequence: number;
  readonly enqueuedAt: number;
  readonly expiresAt: number;
  readonly delayedTo: number;
  readonly priority: number;
  readonly maxReceiveCount: number;
  readonly maxReceiveQueue: string;
  readonly dedupId: string;
  readonly reRoutedFrom: string;
}

export function writeArrival(w: ByteWriter, a: Arrival): void {
  const flags =
    (a.expiresAt === 0 ? 0 : HAS_EXPIRY) |
    (a.delayedTo === 0 ? 0 : HAS_DELAY) |
    (a.priority === 0 ? 0 : HAS_PRIORITY) |
    (a.maxReceiveCount === 0 ? 0 : HAS_LIMIT) |
    (a.dedupId === '' ? 0 : HAS_DEDUP) |
    (a.reRoutedFrom === '' ? 0 : HAS_SOURCE);
  w.u32(a.queue);
  w.u64(a.sequence);
  w.u64(a.enqueuedAt);
  w.u8(flags);
  if (flags === 0) return;
  if (a.expiresAt !== 0) w.u64(a.expiresAt);
  if (a.delayedTo !== 0) w.u64(a.delayedTo);
  if (a.priority !== 0) w.u8(a.priority);
  if (a.maxReceiveCount !== 0) {
    w.varint(a.maxReceiveCount);
    w.text(a.maxReceiveQueue);
  }
  if (a.dedupId !== '') w.text(a.dedupId);
  if (a.reRoutedFrom !== '') w.text(a.reRoutedFrom);
}

export function readArrival(r: ByteReader): Arrival {
  const queue = r.u32();
  const sequence = r.u64();
  const enqueuedAt = r.u64();
  const flags = r.u8();
  const expiresAt = (flags & HAS_EXPIRY) !== 0 ? r.u64() : 0;
  const delayedTo = (flags & HAS_DELAY) !== 0 ? r.u64() : 0;
  const priority = (flags & HAS_PRIORITY) !== 0 ? r.u8() : 0;
  const limited = (flags & HAS_LIMIT) !== 0;
  const maxReceiveCount = limited ? r.varint() : 0;
  const maxReceiveQueue = limited ? r.text() : '';
  const dedupId = (flags & HAS_DEDUP) !== 0 ? r.text() : '';
  const reRoutedFrom = (flags & HAS_SOURCE) !== 0 ? r.text() : '';
  return {
    queue,
    sequence,
    enqueuedAt,
    expiresAt,
    delayedTo,
    priority,
    maxReceiveCount,
    maxReceiveQueue,
    dedupId,
    reRoutedFrom,
  };
}

/** Sequences as runs: count of runs, then first and length of each. Order is kept. */
export function writeSequences(w: ByteWriter, sequences: readonly number[]): void {
  let runs = 0;
  for (let i = 0; i < sequences.length; i++) {
    if (i === 0 || sequences[i] !== (sequences[i - 1] ?? 0) + 1) runs++;
  }
  w.varint(runs);
  let i = 0;
  while (i < sequences.length) {
    const first = sequences[i] ?? 0;
    let length = 1;
    while (sequences[i + length] === first + length) length++;
    w.varint(first);
    w.varint(length);
    i += length;
  }
}

export function readSequences(r: ByteReader, each: (sequence: number) => void): void {
  for (let runs = r.varint(); runs > 0; runs--) {
    const first = r.varint();
    const length = r.varint();
    for (let i = 0; i < length; i++) each(first + i);
  }
}

/** Bits of a purge's scope. */
export const PurgeBits = { ready: 1, delayed: 2, inFlight: 4 } as const;

/** What replay does with each record. Positions are absolute; sequences come one by one. */
export interface RecordVisitor {
  openChannel(channel: OpenChannel): void;
  channelSettings(id: number, settings: string): void;
  deleteChannel(id: number): void;
  /** `payload` is absent for what refers to another message's bytes. */
  send(arrival: Arrival, position: number, stored: Stored, payload: Uint8Array | undefined): void;
  /** A message that enters its queue with the `rewound` record of its family, or not at all. */
  stage(arrival: Arrival, position: number, stored: Stored): void;
  /** What the family held below this sequence is gone; what was staged from it on is in. */
  rewound(queue: number, first: number): void;
  deliver(queue: number, at: number, leaseEndsAt: number, sequences: readonly number[]): void;
  remove(queue: number, sequences: readonly number[]): void;
  giveBack(back: GiveBack): void;
  extend(queue: number, leaseEndsAt: number, sequences: readonly number[]): void;
  transfer(fromQueue: number, sequence: number, arrival: Arrival): void;
  /** `at`: Unix ms; delays that were over by then were so for the purge, too. */
  purge(queue: number, scope: number, belowSequence: number, at: number): void;
  logAppend(event: LoggedEvent): void;
  cursor(log: number, name: string, sequence: number): void;
  logTrim(log: number, firstSequence: number): void;
  registryPut(kind: string, key: string, version: number, value: string): void;
  registryRemove(kind: string, key: string): void;
  aliasSet(alias: string, channel: string): void;
  aliasRemove(alias: string): void;
  relocate(from: number, position: number, length: number): void;
}

/** A channel coming into being. `baseId` 0 = a queue or log of its own, else the family it is a sub-channel of. */
export interface OpenChannel {
  readonly id: number;
  readonly kind: number;
  readonly name: string;
  readonly baseId: number;
  /** As JSON; '' for a sub-channel. */
  readonly settings: string;
}

export function writeOpenChannel(w: ByteWriter, c: OpenChannel): void {
  w.u8(RecordType.openChannel);
  w.u32(c.id);
  w.u8(c.kind);
  w.text(c.name);
  w.u32(c.baseId);
  w.text(c.settings);
}

/** An event of a log; `position` and `length` are its message's in the journal. */
export interface LoggedEvent {
  readonly log: number;
  readonly sequence: number;
  readonly storedAt: number;
  readonly position: number;
  readonly length: number;
}

/** Messages that go back to their queue. `newSequence` 0 = old place, else the first of their new sequences. */
export interface GiveBack {
  readonly queue: number;
  readonly sequences: readonly number[];
  readonly newSequence: number;
  /** Unix ms; 0 = ready at once. */
  readonly delayedTo: number;
  /** The delivery does not count. */
  readonly uncounted: boolean;
}

export function writeGiveBack(w: ByteWriter, b: GiveBack): void {
  w.u8(RecordType.giveBack);
  w.u32(b.queue);
  w.u64(b.newSequence);
  w.u64(b.delayedTo);
  w.u8(b.uncounted ? 1 : 0);
  writeSequences(w, b.sequences);
}

function list(r: ByteReader): number[] {
  const out: number[] = [];
  readSequences(r, (sequence) => out.push(sequence));
  return out;
}

/** Reads all records of an entry whose payload begins at `position`. Throws RangeError on damage. */
export function visitRecords(position: number, payload: Uint8Array, v: RecordVisitor): void {
  const r = new ByteReader(payload);
  while (!r.done) visitRecord(position, r, v);
}

function visitRecord(position: number, r: ByteReader, v: RecordVisitor): void {
  const type = r.u8();
  switch (type) {
    case RecordType.openChannel:
      v.openChannel({ id: r.u32(), kind: r.u8(), name: r.text(), baseId: r.u32(), settings: r.text() });
      return;
    case RecordType.channelSettings:
      v.channelSettings(r.u32(), r.text());
      return;
    case RecordType.deleteChannel:
      v.deleteChannel(r.u32());
      return;
    case RecordType.send: {
      const arrival = readArrival(r);
      const length = r.u32();
      const at = r.at;
      const payload = r.bytes(length);
      v.send(arrival, position + at, { length, bodyBytes: bodyBytesAt(r.buffer, at, length) }, payload);
      return;
    }
    case RecordType.copy: {
      const arrival = readArrival(r);
      const offset = r.u32();
      v.send(arrival, position + offset, storedAt(r, offset), undefined);
      return;
    }
    case RecordType.copies:
      visitCopies(position, r, v);
      return;
    case RecordType.deliver:
      v.deliver(r.u32(), r.u64(), r.u64(), list(r));
      return;
    case RecordType.remove:
      v.remove(r.u32(), list(r));
      return;
    case RecordType.giveBack: {
      const back = {
        queue: r.u32(),
        newSequence: r.u64(),
        delayedTo: r.u64(),
        uncounted: r.u8() === 1,
      };
      v.giveBack({ ...back, sequences: list(r) });
      return;
    }
    case RecordType.extend:
      v.extend(r.u32(), r.u64(), list(r));
      return;
    case RecordType.transfer:
      v.transfer(r.u32(), r.u64(), readArrival(r));
      return;
    case RecordType.purge:
      v.purge(r.u32(), r.u8(), r.u64(), r.u64());
      return;
    default:
      visitRareRecord(type, position, r, v);
  }
}

/** Copies of bytes in the same entry, one after the other in one queue: queue, first sequence, time; then place and length of each. */
function visitCopies(position: number, r: ByteReader, v: RecordVisitor): void {
  const queue = r.u32();
  const first = r.u64();
  const enqueuedAt = r.u64();
  const count = r.u32();
  for (let i = 0; i < count; i++) {
    const offset = r.u32();
    const arrival = { ...PLAIN, queue, sequence: first + i, enqueuedAt };
    v.send(arrival, position + offset, storedAt(r, offset), undefined);
  }
}

/** The length of what lies at `offset` of the same entry, which comes next, and the length of its body. */
function storedAt(r: ByteReader, offset: number): Stored {
  const length = r.u32();
  return { length, bodyBytes: bodyBytesAt(r.buffer, offset, length) };
}

const PLAIN: Omit<Arrival, 'queue' | 'sequence' | 'enqueuedAt'> = {
  expiresAt: 0,
  delayedTo: 0,
  priority: 0,
  maxReceiveCount: 0,
  maxReceiveQueue: '',
  dedupId: '',
  reRoutedFrom: '',
};

function visitRareRecord(type: number, position: number, r: ByteReader, v: RecordVisitor): void {
  switch (type) {
    case RecordType.logAppend: {
      const log = r.u32();
      const sequence = r.u64();
      const storedAt = r.u64();
      const length = r.u32();
      v.logAppend({ log, sequence, storedAt, position: position + r.at, length });
      r.bytes(length);
      return;
    }
    case RecordType.cursor:
      v.cursor(r.u32(), r.text(), r.u64());
      return;
    case RecordType.logTrim:
      v.logTrim(r.u32(), r.u64());
      return;
    case RecordType.registryPut:
      v.registryPut(r.text(), r.text(), r.varint(), r.text());
      return;
    case RecordType.registryRemove:
      v.registryRemove(r.text(), r.text());
      return;
    case RecordType.aliasSet:
      v.aliasSet(r.text(), r.text());
      return;
    case RecordType.aliasRemove:
      v.aliasRemove(r.text());
      return;
    case RecordType.reference: {
      const arrival = readArrival(r);
      const position = r.u64();
      const length = r.u32();
      // How much of it is body stands with the message itself, elsewhere.
      v.send(arrival, position, { length, bodyBytes: length }, undefined);
      return;
    }
    case RecordType.stage: {
      const arrival = readArrival(r);
      const position = r.u64();
      v.stage(arrival, position, { length: r.u32(), bodyBytes: r.u32() });
      return;
    }
    case RecordType.rewound:
      v.rewound(r.u32(), r.u64());
      return;
    case RecordType.relocate: {
      const from = r.u64();
      const length = r.u32();
      v.relocate(from, position + r.at, length);
      r.bytes(length);
      return;
    }
    default:
      throw new RangeError(`unknown record type ${String(type)}`);
  }
}
