import { isUtf8 } from 'node:buffer';
import { Sink, Source, WireError, highOf, highOfBig, lowOf, lowOfBig, varintSize } from './varint.js';

/**
 * Protobuf (proto3) messages from a declaration. Small and quick for what this contract uses: scalars, string maps, nested
 * and repeated messages. Maps become `Map`s, because their keys come from users and `__proto__` is a legal one; bytes are
 * views of the input.
 */
type Kind =
  'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'count' | 'counts' | 'map' | 'message' | 'messages';

/** One field: what decoding gives (`Out`) and what encoding takes (`In`). */
export interface Field<Out, In = Out> {
  readonly number: number;
  readonly kind: Kind;
  readonly type?: MessageType<Fields>;
  /** Types only; never there. */
  readonly out?: Out;
  readonly in?: In;
}

// A declaration may hold fields of any type: only their names and kinds matter at run time.
export type Fields = Readonly<Record<string, Field<unknown>>>;
type OutOf<F> = F extends Field<infer Out, infer _In> ? Out : never;
type InOf<F> = F extends Field<infer _Out, infer In> ? In : never;
/** A decoded message: every field is there, absent ones with proto3's default. */
export type Decoded<F> = { -readonly [K in keyof F]: OutOf<F[K]> };
/** A message to encode: what is left out is the default. */
export type Encodable<F> = { readonly [K in keyof F]?: InOf<F[K]> | undefined };

export const string = (number: number): Field<string> => ({ number, kind: 'string' });
export const bytes = (number: number): Field<Uint8Array> => ({ number, kind: 'bytes' });
export const bool = (number: number): Field<boolean> => ({ number, kind: 'bool' });
export const int32 = (number: number): Field<number> => ({ number, kind: 'int32' });
/** int64 with all its bits, for nanoseconds. */
export const int64 = (number: number): Field<bigint> => ({ number, kind: 'int64' });
/** int64 or uint64 as a number, exact within ±2⁵³: sequences and counts. */
export const count = (number: number): Field<number> => ({ number, kind: 'count' });
export const counts = (number: number): Field<readonly number[]> => ({ number, kind: 'counts' });
export const stringMap = (number: number): Field<ReadonlyMap<string, string>> => ({ number, kind: 'map' });
export const nested = <F extends Fields>(
  number: number,
  type: MessageType<F>,
): Field<Decoded<F> | undefined, Encodable<F> | undefined> => ({
  number,
  kind: 'message',
  type: type,
});
export const repeated = <F extends Fields>(
  number: number,
  type: MessageType<F>,
): Field<readonly Decoded<F>[], readonly Encodable<F>[]> => ({
  number,
  kind: 'messages',
  type: type,
});

export function message<F extends Fields>(fields: F): MessageType<F> {
  return new MessageType(fields);
}

const NO_MAP: ReadonlyMap<string, string> = new Map();
const NO_LIST: readonly never[] = Object.freeze([]);
const NO_BYTES = new Uint8Array(0);
const DEFAULTS: Readonly<Record<Kind, unknown>> = {
  string: '',
  bytes: NO_BYTES,
  bool: false,
  int32: 0,
  int64: 0n,
  count: 0,
  counts: NO_LIST,
  map: NO_MAP,
  message: undefined,
  messages: NO_LIST,
};
const VARINT = 0;
const DELIMITED = 2;
const WIRE_KINDS: Readonly<Record<Kind, number>> = {
  string: DELIMITED,
  bytes: DELIMITED,
  bool: VARINT,
  int32: VARINT,
  int64: VARINT,
  count: VARINT,
  counts: DELIMITED,
  map: DELIMITED,
  message: DELIMITED,
  messages: DELIMITED,
};

interface Slot {
  readonly name: string;
  readonly kind: Kind;
  readonly type: MessageType<Fields> | undefined;
  readonly tag: number;
  readonly tagSize: number;
}

type Values = Record<string, unknown>;

/** A message type: a pair of pure functions between values and bytes. */
export class MessageType<F extends Fields> {
  readonly #slots: readonly Slot[];
  readonly #byNumber: (Slot | undefined)[] = [];
  readonly #empty: Values = {};

  constructor(fields: F) {
    this.#slots = Object.entries(fields).map(([name, field]) => {
      const tag = (field.number << 3) | WIRE_KINDS[field.kind];
      return { name, kind: field.kind, type: field.type, tag, tagSize: varintSize(tag, 0) };
    });
    for (const slot of this.#slots) {
      this.#byNumber[slot.tag >>> 3] = slot;
      this.#empty[slot.name] = DEFAULTS[slot.kind];
    }
  }

  encode(value: Encodable<F>): Buffer {
    const sizes: number[] = [];
    const sink = new Sink(this.measure(value, sizes), sizes);
    this.write(value, sink);
    return sink.bytes;
  }

  /** Throws WireError for bytes that are no such message. Fields of no known number are stepped over. */
  decode(input: Uint8Array): Decoded<F> {
    const source = new Source(input);
    return this.read(source, source.bytes.length, { ...this.#empty }) as Decoded<F>;
  }

  /** Length of the encoding; every inner length is pushed to `sizes`, in the order `write` needs them. */
  measure(value: Values, sizes: number[]): number {
    let total = 0;
    for (const slot of this.#slots) {
      const part = value[slot.name];
      if (part === undefined || part === DEFAULTS[slot.kind]) continue;
      total += measureField(slot, part, sizes);
    }
    return total;
  }

  write(value: Values, sink: Sink): void {
    for (const slot of this.#slots) {
      const part = value[slot.name];
      if (part === undefined || part === DEFAULTS[slot.kind]) continue;
      writeField(slot, part, sink);
    }
  }

  read(source: Source, end: number, into: Values): Values {
    while (source.at < end) {
      source.varint(end);
      const tag = source.low;
      if (source.high !== 0 || tag < 8) throw new WireError('field number out of range');
      const slot = this.#byNumber[tag >>> 3];
      // Packed lists may also come one by one.
      if (slot !== undefined && (slot.tag === tag || (slot.kind === 'counts' && (tag & 7) === VARINT))) {
        into[slot.name] = readField(slot, into[slot.name], source, tag, end);
      } else source.skip(tag, end);
    }
    return into;
  }

  empty(): Values {
    return { ...this.#empty };
  }
}

const delimited = (length: number): number => varintSize(length, 0) + length;
const numberSize = (value: number): number => varintSize(lowOf(value), highOf(value));

function measureText(text: string, sizes: number[]): number {
  const length = Buffer.byteLength(text);
  sizes.push(length);
  return delimited(length);
}

function measureField(slot: Slot, value: unknown, sizes: number[]): number {
  switch (slot.kind) {
    case 'string':
      return slot.tagSize + measureText(value as string, sizes);
    case 'bytes': {
      const length = (value as Uint8Array).byteLength;
      return length === 0 ? 0 : slot.tagSize + delimited(length);
    }
    case 'bool':
      return slot.tagSize + 1;
    case 'int32':
    case 'count':
      return slot.tagSize + numberSize(value as number);
    case 'int64':
      return slot.tagSize + varintSize(lowOfBig(value as bigint), highOfBig(value as bigint));
    case 'counts': {
      const list = value as readonly number[];
      if (list.length === 0) return 0;
      let length = 0;
      for (const each of list) length += numberSize(each);
      sizes.push(length);
      return slot.tagSize + delimited(length);
    }
    case 'map': {
      let total = 0;
      for (const [key, text] of value as ReadonlyMap<string, string>) {
        const place = sizes.push(0) - 1;
        const length = 2 + measureText(key, sizes) + measureText(text, sizes);
        sizes[place] = length;
        total += slot.tagSize + delimited(length);
      }
      return total;
    }
    case 'message':
      return measureMessage(slot, value as Values, sizes);
    case 'messages': {
      let total = 0;
      for (const each of value as readonly Values[]) total += measureMessage(slot, each, sizes);
      return total;
    }
  }
}

function measureMessage(slot: Slot, value: Values, sizes: number[]): number {
  const place = sizes.push(0) - 1;
  const length = slot.type?.measure(value, sizes) ?? 0;
  sizes[place] = length;
  return slot.tagSize + delimited(length);
}

const KEY_TAG = (1 << 3) | DELIMITED;
const VALUE_TAG = (2 << 3) | DELIMITED;

function writeText(tag: number, text: string, sink: Sink): void {
  const length = sink.size();
  sink.varint(tag, 0);
  sink.varint(length, 0);
  sink.text(text, length);
}

function writeNumber(value: number, sink: Sink): void {
  sink.varint(lowOf(value), highOf(value));
}

function writeField(slot: Slot, value: unknown, sink: Sink): void {
  const { tag } = slot;
  switch (slot.kind) {
    case 'string':
      writeText(tag, value as string, sink);
      return;
    case 'bytes': {
      const raw = value as Uint8Array;
      if (raw.byteLength === 0) return;
      sink.varint(tag, 0);
      sink.varint(raw.byteLength, 0);
      sink.raw(raw);
      return;
    }
    case 'bool':
      sink.varint(tag, 0);
      sink.varint(1, 0);
      return;
    case 'int32':
    case 'count':
      sink.varint(tag, 0);
      writeNumber(value as number, sink);
      return;
    case 'int64':
      sink.varint(tag, 0);
      sink.varint(lowOfBig(value as bigint), highOfBig(value as bigint));
      return;
    case 'counts': {
      const list = value as readonly number[];
      if (list.length === 0) return;
      sink.varint(tag, 0);
      sink.varint(sink.size(), 0);
      for (const each of list) writeNumber(each, sink);
      return;
    }
    case 'map':
      for (const [key, text] of value as ReadonlyMap<string, string>) {
        sink.varint(tag, 0);
        sink.varint(sink.size(), 0);
        writeText(KEY_TAG, key, sink);
        writeText(VALUE_TAG, text, sink);
      }
      return;
    case 'message':
      writeMessage(slot, value as Values, sink);
      return;
    case 'messages':
      for (const each of value as readonly Values[]) writeMessage(slot, each, sink);
      return;
  }
}

function writeMessage(slot: Slot, value: Values, sink: Sink): void {
  sink.varint(slot.tag, 0);
  sink.varint(sink.size(), 0);
  slot.type?.write(value, sink);
}

function readText(source: Source, limit: number): string {
  const end = source.part(limit);
  const raw = source.bytes.subarray(source.at, end);
  const text = raw.toString('utf8');
  source.at = end;
  // Decoding puts U+FFFD for bytes that are no UTF-8; proto3 wants those refused, and data is never changed silently.
  if (text.includes('\ufffd') && !isUtf8(raw)) throw new WireError('text is not valid UTF-8');
  return text;
}

function readField(slot: Slot, before: unknown, source: Source, tag: number, limit: number): unknown {
  switch (slot.kind) {
    case 'string':
      return readText(source, limit);
    case 'bytes': {
      const end = source.part(limit);
      const view = source.bytes.subarray(source.at, end);
      source.at = end;
      return view;
    }
    case 'bool':
      source.varint(limit);
      return source.low !== 0 || source.high !== 0;
    case 'int32':
      source.varint(limit);
      return source.low | 0;
    case 'int64':
      source.varint(limit);
      return source.big;
    case 'count':
      source.varint(limit);
      return source.number;
    case 'counts':
      return readCounts(before as readonly number[], source, tag, limit);
    case 'map':
      return readEntry(before as Map<string, string>, source, limit);
    case 'message': {
      const end = source.part(limit);
      return slot.type?.read(source, end, (before as Values | undefined) ?? slot.type.empty());
    }
    case 'messages': {
      const end = source.part(limit);
      const list = before === NO_LIST ? [] : (before as unknown[]);
      list.push(slot.type?.read(source, end, slot.type.empty()));
      return list;
    }
  }
}

function readCounts(
  before: readonly number[],
  source: Source,
  tag: number,
  limit: number,
): readonly number[] {
  const list = before === NO_LIST ? [] : (before as number[]);
  const end = (tag & 7) === DELIMITED ? source.part(limit) : undefined;
  do {
    if (end !== undefined && source.at >= end) break;
    source.varint(end ?? limit);
    list.push(source.number);
  } while (end !== undefined);
  return list;
}

function readEntry(before: Map<string, string>, source: Source, limit: number): Map<string, string> {
  const end = source.part(limit);
  const map = before === NO_MAP ? new Map<string, string>() : before;
  let key = '';
  let value = '';
  while (source.at < end) {
    source.varint(end);
    const tag = source.low;
    if (source.high !== 0 || tag < 8) throw new WireError('field number out of range');
    if (tag === KEY_TAG) key = readText(source, end);
    else if (tag === VALUE_TAG) value = readText(source, end);
    else source.skip(tag, end);
  }
  return map.set(key, value);
}
